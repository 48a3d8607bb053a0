"""Dagster's event log as a projection of what lies on disk: a materialization and its checks for each finished step."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
from dagster import AssetCheckEvaluation, DagsterEvent, DagsterEventType, DagsterRun
from dagster._core.events import StepMaterializationData  # no public name; the event that `dg` itself writes

from megacpp_assets.defs.keys import key_of
from megacpp_assets.defs.metadata import describe
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.steps import Step

VERSION_TAG = "dagster/data_version"


class DagsterRecords:
    """`Records` in the event log of `instance`, under the run that `run` is or makes when the first event comes."""

    def __init__(self, instance: dg.DagsterInstance, run: DagsterRun) -> None:
        self._instance = instance
        self._run = run
        self._latest: dict[dg.AssetKey, dict[str | None, str]] = {}

    def has(self, step: Step, done: Done) -> bool:
        """Whether the latest materialization of the step's partition is of this very manifest.

        A kill between a receipt and its event leaves none, and an audit would miss it.
        """
        key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
        if key not in self._latest:
            self._latest[key] = self._versions(key, partition is not None)
        return self._latest[key].get(partition) == done.artifact.manifest.sha256

    def record(self, step: Step, done: Done) -> None:
        """Store the materialization with its metadata and the outcome of every check."""
        key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
        for event in self._events(step, done, key, partition):
            self._instance.report_dagster_event(event, self._run.run_id)
        self._latest.setdefault(key, {})[partition] = done.artifact.manifest.sha256

    def _versions(self, key: dg.AssetKey, partitioned: bool) -> dict[str | None, str]:
        if not partitioned:
            event = self._instance.get_latest_materialization_event(key)
            made = event.asset_materialization if event else None
            return {None: (made.tags or {}).get(VERSION_TAG, "")} if made else {}
        kind = DagsterEventType.ASSET_MATERIALIZATION
        tags = self._instance.event_log_storage.get_latest_tags_by_partition(key, kind, [VERSION_TAG])
        return {partition: found.get(VERSION_TAG, "") for partition, found in tags.items()}

    def _events(self, step: Step, done: Done, key: dg.AssetKey, partition: str | None) -> Iterator[DagsterEvent]:
        materialization = dg.AssetMaterialization(
            key,
            partition=partition,
            metadata=describe(step.corpus, done),
            tags={VERSION_TAG: done.artifact.manifest.sha256},
        )
        yield self._event(DagsterEventType.ASSET_MATERIALIZATION, StepMaterializationData(materialization))
        for check in done.receipt.checks:
            severity = dg.AssetCheckSeverity.ERROR if check.blocking else dg.AssetCheckSeverity.WARN
            evaluation = AssetCheckEvaluation(
                key,
                check.name,
                check.passed,
                metadata={"expected": check.expected, "found": check.found},
                severity=severity,
                blocking=check.blocking,
                partition=partition,
            )
            yield self._event(DagsterEventType.ASSET_CHECK_EVALUATION, evaluation)

    def _event(self, kind: DagsterEventType, data: StepMaterializationData | AssetCheckEvaluation) -> DagsterEvent:
        return DagsterEvent(kind.value, self._run.job_name, event_specific_data=data)
