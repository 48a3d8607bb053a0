"""Where a step stands in Dagster's graph: an asset key that holds its dataset and phase, and a partition key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import dagster as dg

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.defs.showing.paths import asset_path, path_of
from megacpp_assets.pipeline.stages import CHECKPOINT, STAGES, Kind, Stage, upstream_of
from megacpp_assets.pipeline.steps import Step

_SET: Final = "repo_ref__"
_DIGITS: Final = 8
REPORTS: Final = "quality"
"""The op that builds the reports."""
REPORTS_GROUP: Final = "reports"
STAGING_GROUP: Final = "reports_staging"
_STAGING: Final = "stg_"
"""The project's prefix of views that only rename and cast, for the tables behind them."""
_LAST: Final = "z_"
"""Before the first part of a report's key: the UI lists assets by key, and the stages are to come first."""


def report_group(table: str) -> str:
    """The group of a table of the reports; staging views have one of their own."""
    return STAGING_GROUP if table.startswith(_STAGING) else REPORTS_GROUP


def plain_name(dataset: str) -> str:
    """The name of `dataset` in names of Dagster's ops and jobs, which have no hyphen: no two datasets share one."""
    if "-" not in dataset:
        return dataset
    return f"{dataset.replace('-', '_')}_{sha256_bytes(dataset.encode())[:_DIGITS]}"


def report_key(table: str) -> dg.AssetKey:
    """The asset of a table of the reports, which belong to the data root and to no dataset."""
    return dg.AssetKey([f"{_LAST}{report_group(table)}", table])


def asset_key(dataset: str, stage: str, phase: str = "") -> dg.AssetKey:
    """`DATASET/STAGE`, or `DATASET/PHASE/STAGE` where the stage's partitions are mixtures."""
    return dg.AssetKey(asset_path(dataset, stage, phase))


def key_of(dataset: str, stage: str, partition: str) -> tuple[dg.AssetKey, str | None]:
    """The asset and the partition in which Dagster shows the step; None for a stage of one partition."""
    path, shown = path_of(dataset, stage, partition)
    return dg.AssetKey(path), shown


def shown_asset(step: Step) -> str:
    """The name of the asset in which Dagster shows the step."""
    key, _ = key_of(step.corpus.dataset, step.stage.name, step.partition)
    return key.to_user_string()


def partition_of(dataset: str, key: dg.AssetKey, partition: str | None) -> tuple[str, str]:
    """Inverse of `key_of`: the stage and its partition."""
    stage = key.path[-1]
    if STAGES[stage].kind is Kind.MIXTURE:
        return stage, f"{partition}/{key.path[1]}"
    return stage, partition or dataset


def parents(corpus: Corpus, stage: Stage, phase: str) -> Iterator[tuple[dg.AssetKey, Stage]]:
    """The assets that `stage` reads, of that phase where its partitions are mixtures, with their stages."""
    for upstream in upstream_of(stage, corpus.recipe):
        yield asset_key(corpus.dataset, upstream.name, phase if upstream.kind is Kind.MIXTURE else ""), upstream
    if stage.name == CHECKPOINT and (before := corpus.recipe.phase_before(phase)):
        yield asset_key(corpus.dataset, stage.name, before), stage  # training goes on from that one


def repo_partitions(dataset: str) -> dg.DynamicPartitionsDefinition:
    """The `NAME@REF` partitions that `dataset` has had."""
    return dg.DynamicPartitionsDefinition(name=_set_name(dataset))


def register(instance: dg.DagsterInstance, dataset: str, repos: tuple[RepoRef, ...]) -> None:
    """Make `repos` known to Dagster; keys it knows already are left alone."""
    known = set(instance.get_dynamic_partitions(_set_name(dataset)))
    missing = [repo.key for repo in repos if repo.key not in known]
    if missing:
        instance.add_dynamic_partitions(_set_name(dataset), missing)


def unregister(instance: dg.DagsterInstance, dataset: str, keys: Sequence[str]) -> None:
    """Remove partitions from Dagster; what ran under them stays in the list of runs."""
    for key in keys:
        instance.delete_dynamic_partition(_set_name(dataset), key)


def dataset_of(set_name: str) -> str | None:
    """The dataset whose partitions Dagster keeps under that name; None for a set that is not ours."""
    return set_name.removeprefix(_SET) if set_name.startswith(_SET) else None


def _set_name(dataset: str) -> str:
    return f"{_SET}{dataset}"
