"""The keys of a step in Dagster's graph: an asset key, with dataset and phase, and a partition key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import dagster as dg

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.defs.showing.paths import asset_path, path_of
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.pins.pinning import require_at_source
from megacpp_assets.pipeline.stages import CHECKPOINT, STAGES, Kind, Stage, upstream_of
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.storage.root.lock_file import read_corpus

_SET: Final = "repo_ref__"
_DIGITS: Final = 8
REPORTS: Final = "quality"
"""The name of the op that builds the reports."""
REPORTS_GROUP: Final = "reports"
STAGING_GROUP: Final = "reports_staging"
_STAGING: Final = "stg_"
"""dbt's prefix of staging views, which only rename and cast columns."""
_LAST: Final = "z_"
"""The prefix of the keys of reports. The UI sorts assets by key, and the stages should come first."""


def report_group(table: str) -> str:
    """Return the group of a table of the reports. Staging views have a group of their own."""
    return STAGING_GROUP if table.startswith(_STAGING) else REPORTS_GROUP


def plain_name(dataset: str) -> str:
    """Return `dataset` as part of names of Dagster's ops and jobs, which allow no hyphen. The result is unique."""
    if "-" not in dataset:
        return dataset
    return f"{dataset.replace('-', '_')}_{sha256_bytes(dataset.encode())[:_DIGITS]}"


def report_key(table: str) -> dg.AssetKey:
    """Return the asset of a table of the reports. Reports belong to the data root and to no dataset."""
    return dg.AssetKey([f"{_LAST}{report_group(table)}", table])


def asset_key(dataset: str, stage: str, phase: str = "") -> dg.AssetKey:
    """`DATASET/STAGE`, or `DATASET/PHASE/STAGE` where the stage's partitions are mixtures."""
    return dg.AssetKey(asset_path(dataset, stage, phase))


def key_of(dataset: str, stage: str, partition: str) -> tuple[dg.AssetKey, str | None]:
    """Return the asset and the partition in which Dagster shows the step. The partition is None for a stage with
    only one.
    """
    path, shown = path_of(dataset, stage, partition)
    return dg.AssetKey(path), shown


def shown_asset(step: Step) -> str:
    """Return the name of the asset in which Dagster shows the step."""
    key, _ = key_of(step.corpus.dataset, step.stage.name, step.partition)
    return key.to_user_string()


def partition_of(dataset: str, key: dg.AssetKey, partition: str | None) -> tuple[str, str]:
    """Return the stage and its partition: the inverse of `key_of`."""
    stage = key.path[-1]
    if STAGES[stage].kind is Kind.MIXTURE:
        return stage, f"{partition}/{key.path[1]}"
    return stage, partition or dataset


def parents(corpus: Corpus, stage: Stage, phase: str) -> Iterator[tuple[dg.AssetKey, Stage]]:
    """Yield the assets that `stage` reads, with their stages; of that phase if the stage's partitions are mixtures."""
    for upstream in upstream_of(stage, corpus.recipe):
        yield asset_key(corpus.dataset, upstream.name, phase if upstream.kind is Kind.MIXTURE else ""), upstream
    if stage.name == CHECKPOINT and (before := corpus.recipe.phase_before(phase)):
        yield (
            asset_key(corpus.dataset, stage.name, before),
            stage,
        )  # the training of a phase resumes from the weights of the phase before


def repo_partitions(dataset: str) -> dg.DynamicPartitionsDefinition:
    """Return the definition of all `NAME@REF` partitions that `dataset` has had."""
    return dg.DynamicPartitionsDefinition(name=_set_name(dataset))


def register(instance: dg.DagsterInstance, dataset: str, repos: tuple[RepoRef, ...]) -> None:
    """Add `repos` to Dagster's partitions. Known keys stay as they are."""
    known = set(instance.get_dynamic_partitions(_set_name(dataset)))
    missing = [repo.key for repo in repos if repo.key not in known]
    if missing:
        instance.add_dynamic_partitions(_set_name(dataset), missing)


def unregister(instance: dg.DagsterInstance, dataset: str, keys: Sequence[str]) -> None:
    """Remove partitions from Dagster. Their runs stay in the list of runs."""
    for key in keys:
        instance.delete_dynamic_partition(_set_name(dataset), key)


def require_partitions(root: Path, set_name: str, keys: Sequence[str]) -> None:
    """Raise `SpecError` before Dagster keeps a key that can be no partition.

    That is a key that is not NAME@REF, one of a repository that the dataset lacks, and one of a reference that the
    repository's source lacks. Sets of partitions that are not ours are not judged.
    """
    if not set_name.startswith(_SET):
        return
    dataset = set_name.removeprefix(_SET)
    references = [RepoRef.parse(key) for key in keys]
    lock = read_corpus(root, dataset)
    known = {pin.partition for pin in lock.known}
    for name in sorted({each.name for each in references} - {each.name for each in known}):
        lock.pin(name)
    if unknown := [each.key for each in references if each not in known]:
        require_at_source(open_corpus(root, dataset), unknown)


def _set_name(dataset: str) -> str:
    return f"{_SET}{dataset}"
