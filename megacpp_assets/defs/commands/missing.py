"""Records partitions as failed that Dagster shows as materialized although their folder is missing, with advice.

Dagster knows only its events. `megacpp ui` looks when it starts and then every minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
from dagster import DagsterEventType

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.defs.dagster_private import AssetMaterializationPlannedData, AssetObservationData
from megacpp_assets.defs.keys import key_of, shown_asset
from megacpp_assets.defs.line_job import config_of, line_job, line_job_name
from megacpp_assets.defs.recording.events import Event
from megacpp_assets.defs.recording.recorded_run import MISSING, Command, RecordedRun
from megacpp_assets.defs.showing.paths import PATH_METADATA
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.missing import Missing, missing_artifacts
from megacpp_assets.pipeline.stages import STAGE_NAMES
from megacpp_assets.pipeline.steps import RunPlan, Step, planned_steps
from megacpp_assets.storage.root.lock_file import read_lock

_AT_WORK = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def record_missing(root: Path, instance: dg.DagsterInstance) -> int:
    """Record each missing artifact as a failure of its partition; return how many there were.

    Nothing is examined while a run works, because a run replaces folders.
    """
    if instance.get_runs_count(dg.RunsFilter(statuses=_AT_WORK)):
        return 0
    found = 0
    for dataset in sorted(read_lock(root).datasets):
        corpus = open_corpus(root, dataset)
        gone = [missing for missing in missing_artifacts(_steps(corpus)) if _shown_as_made(instance, missing)]
        if gone:
            _record(instance, corpus, gone)
        found += len(gone)
    return found


def _steps(corpus: Corpus) -> Iterator[Step]:
    """Yield every step of the dataset, including references that no mixture reads."""
    mixtures = corpus.mixtures(corpus.specialists, corpus.recipe.curriculum)
    steps = {step.name: step for step in planned_steps(corpus, RunPlan(mixtures))}
    steps |= {step.name: step for step in planned_steps(corpus, RunPlan((), refs=corpus.known_refs))}
    yield from steps.values()


def _shown_as_made(instance: dg.DagsterInstance, missing: Missing) -> bool:
    """Return whether the latest event of the partition is a materialization of that folder.

    A changed recipe names another folder, which nobody has made yet.
    """
    step = missing.step
    key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
    made = instance.fetch_materializations(
        dg.AssetRecordsFilter(key, asset_partitions=[partition] if partition else None), limit=1
    ).records
    event = made[0].asset_materialization if made else None
    if event is None or event.metadata.get(PATH_METADATA) != dg.MetadataValue.path(missing.path):
        return False
    planned = instance.event_log_storage.get_latest_planned_materialization_info(key, partition)
    return planned is None or planned.storage_id < made[0].storage_id


def _record(instance: dg.DagsterInstance, corpus: Corpus, gone: list[Missing]) -> None:
    """Record a failed run of the line over the missing steps. Executing it again makes them."""
    steps = [missing.step for missing in gone]
    stages = tuple(name for name in STAGE_NAMES if any(step.stage.name == name for step in steps))
    config = config_of(steps, train_tokenizer_again=False)
    command = Command(
        "megacpp ui: missing folders", MISSING, line_job_name(corpus.dataset), lambda: line_job(corpus), stages, config,
        {"megacpp/dataset": corpus.dataset},
    )  # fmt: skip
    run = RecordedRun(instance, command)
    for stage in stages:
        run.start(stage)
        words = []
        for missing in gone:
            if missing.step.stage.name == stage:
                words.append(str(missing.gap(shown_asset(missing.step))))
                run.report(stage, _events(missing, words[-1]))
        run.fail(stage, "\n".join(words))
    run.end(f"{len(gone)} partitions are recorded as made and their folders are missing")


def _events(missing: Missing, words: str) -> Iterator[Event]:
    """Yield planned materializations that never came: Dagster then shows the partitions as failed."""
    step = missing.step
    key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
    yield DagsterEventType.ASSET_MATERIALIZATION_PLANNED, AssetMaterializationPlannedData(key, partition)
    seen = dg.AssetObservation(key, partition=partition, description=words, metadata={"missing": words})
    yield DagsterEventType.ASSET_OBSERVATION, AssetObservationData(seen)
