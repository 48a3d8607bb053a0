"""The events of a finished step for Dagster: materialized or failed, and the result of every check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import dagster as dg
from dagster import AssetCheckEvaluation, DagsterEventType

from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.defs.dagster_private import (
    AssetMaterializationPlannedData,
    AssetObservationData,
    StepMaterializationData,
)
from megacpp_assets.defs.keys import key_of
from megacpp_assets.defs.showing.metadata import describe
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.pins.promotion import comparison, pinned_reference
from megacpp_assets.pipeline.steps import Step

Data = AssetMaterializationPlannedData | AssetObservationData | StepMaterializationData | AssetCheckEvaluation
Event = tuple[DagsterEventType, Data]


def events_of(step: Step, done: Done, tags: Mapping[str, str]) -> Iterator[Event]:
    """Yield the events of a step that ran, in order. `tags` are the tags of its materialization."""
    key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
    if done.receipt.passed:
        made = dg.AssetMaterialization(key, partition=partition, metadata=describe(step.corpus, done), tags=tags)
        yield materialization(made)
    else:
        yield from _failed_events(step, done, key, partition)
    for check in done.receipt.checks:
        yield _evaluation(key, partition, check, {})


def materialization(made: dg.AssetMaterialization) -> Event:
    """Return the event of a materialization."""
    return DagsterEventType.ASSET_MATERIALIZATION, StepMaterializationData(made)


def reported_check(result: dg.AssetCheckResult) -> Event:
    """Return the event of a check, as an asset's body would have returned it."""
    evaluation = AssetCheckEvaluation(
        result.asset_key or dg.AssetKey([]),
        result.check_name or "",
        result.passed,
        metadata=result.metadata,
        severity=result.severity,
    )
    return DagsterEventType.ASSET_CHECK_EVALUATION, evaluation


def comparison_of(step: Step) -> Iterator[Event]:
    """Yield checks that say what a promotion of the step's reference would find. They do not block."""
    key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
    repo = RepoRef.parse(step.partition)
    read = pinned_reference(step.corpus, repo)
    for check in comparison(step.corpus, repo):
        yield _evaluation(
            key, partition, replace(check, blocking=False), {"compared with": read.key if read else "none"}
        )


def _failed_events(step: Step, done: Done, key: dg.AssetKey, partition: str | None) -> Iterator[Event]:
    """Yield the events of a step whose checks failed.

    A materialization would be shown as green whatever its checks say. A planned materialization that never came shows
    the partition as failed; an observation gives the reason and the figures.
    """
    yield DagsterEventType.ASSET_MATERIALIZATION_PLANNED, AssetMaterializationPlannedData(key, partition)
    failed = "; ".join(
        f"{check.name}: expected {check.expected}, found {check.found}" for check in done.receipt.failures
    )
    seen = dg.AssetObservation(
        key,
        partition=partition,
        description=f"built, but its checks failed: {failed}",
        metadata=describe(step.corpus, done),
    )
    yield DagsterEventType.ASSET_OBSERVATION, AssetObservationData(seen)


def _evaluation(key: dg.AssetKey, partition: str | None, check: CheckResult, more: Mapping[str, str]) -> Event:
    evaluation = AssetCheckEvaluation(
        key,
        check.name,
        check.passed,
        metadata={"expected": check.expected, "found": check.found, **more},
        severity=dg.AssetCheckSeverity.ERROR if check.blocking else dg.AssetCheckSeverity.WARN,
        blocking=check.blocking,
        partition=partition,
    )
    return DagsterEventType.ASSET_CHECK_EVALUATION, evaluation
