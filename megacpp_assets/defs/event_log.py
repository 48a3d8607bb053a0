"""What Dagster's own event log says was materialized; the audit compares manifests with it."""

from __future__ import annotations

import dagster as dg

from megacpp_assets.contract.names import MIXTURE_STAGES, REPO_STAGES
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.defs.partitions import mixture_key
from megacpp_assets.lineage.audit import EventLog

MANIFEST_METADATA = "manifest_sha256"
EARLIER_METADATA = "earlier_manifest_sha256"
"""Manifests of the steps that a training run saved before its last."""
_PAGE = 1000


def event_log(instance: dg.DagsterInstance) -> EventLog:
    """A function (stage, partition) -> manifest hashes of every materialization recorded for it."""

    def recorded(stage: str, partition: str) -> set[str]:
        records_filter = dg.AssetRecordsFilter(
            asset_key=dg.AssetKey(stage), asset_partitions=_partition_keys(stage, partition)
        )
        hashes: set[str] = set()
        cursor: str | None = None
        while True:
            page = instance.fetch_materializations(records_filter, limit=_PAGE, cursor=cursor)
            for record in page.records:
                hashes |= _hashes(record.asset_materialization)
            if not page.has_more:
                return hashes
            cursor = page.cursor

    return recorded


def _partition_keys(stage: str, partition: str) -> list[str] | None:
    if stage in REPO_STAGES:
        return [partition]
    if stage in MIXTURE_STAGES:
        specialist, _, phase = partition.partition("/")
        return [mixture_key(Mixture(specialist, phase))]
    return None


def _hashes(materialization: dg.AssetMaterialization | None) -> set[str]:
    if materialization is None:
        return set()
    found: set[str] = set()
    for name in (MANIFEST_METADATA, EARLIER_METADATA):
        value = materialization.metadata.get(name)
        if value is not None:
            found |= set(str(value.value).split())
    return found
