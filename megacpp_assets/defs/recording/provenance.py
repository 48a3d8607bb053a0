"""The tags by which Dagster decides that a partition is out of date: which materializations its inputs had."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from megacpp_assets.defs.dagster_private import (
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    NULL_EVENT_POINTER,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)
from megacpp_assets.defs.keys import parents
from megacpp_assets.defs.showing.paths import DATA_VERSION_TAG
from megacpp_assets.pipeline.stages import Kind
from megacpp_assets.pipeline.steps import Step


def provenance(instance: dg.DagsterInstance, step: Step) -> dict[str, str]:
    """Return the tags of a materialization of `step` that is recorded now: data version and event of each asset
    upstream.

    What the step read was recorded before it. Without these tags Dagster takes every input for a newer one.
    """
    phase = step.corpus.mixture(step.partition).phase if step.stage.kind is Kind.MIXTURE else ""
    tags = {DATA_VERSION_IS_USER_PROVIDED_TAG: "true"}
    for key, _ in parents(step.corpus, step.stage, phase):
        tags |= dict(_latest(instance, key))
    return tags


def _latest(instance: dg.DagsterInstance, key: dg.AssetKey) -> Iterator[tuple[str, str]]:
    records = instance.fetch_materializations(key, limit=1).records
    event = records[0].asset_materialization if records else None
    yield get_input_data_version_tag(key), (event.tags or {}).get(DATA_VERSION_TAG, "") if event else ""
    yield get_input_event_pointer_tag(key), str(records[0].storage_id) if records else NULL_EVENT_POINTER
