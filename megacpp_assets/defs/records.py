"""Dagster's event log as a projection of what lies on disk: a materialization and its checks for each finished step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import dagster as dg
from dagster import AssetCheckEvaluation, DagsterEvent, DagsterEventType, DagsterRun
from dagster._core.events import StepMaterializationData  # no public name; the event that `dg` itself writes
from dagster._core.storage.tags import BACKFILL_ID_TAG

from megacpp_assets.defs.keys import key_of
from megacpp_assets.defs.showing.identity import DATA_VERSION_TAG, identity, run_tags_of, tags_of
from megacpp_assets.defs.showing.metadata import describe
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.steps import Step

_PAGE = 1000


class DagsterRecords:
    """`Records` in the event log of `instance`, under the run that `run` is or makes when the first event comes."""

    def __init__(self, instance: dg.DagsterInstance, run: DagsterRun) -> None:
        self._instance = instance
        self._run = run
        self._backfill = run.tags.get(BACKFILL_ID_TAG, "")
        self._latest: dict[dg.AssetKey, dict[str | None, str]] = {}
        self._tagged: dict[str, str] = {}

    def has(self, step: Step, done: Done) -> bool:
        """Whether the latest materialization of the step's partition is of this very manifest.

        Within a backfill it must be the backfill's own: one that lacks an event of a partition has failed for Dagster.
        A kill between a receipt and its event leaves none, and an audit would miss it.
        """
        key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
        if key not in self._latest:
            self._latest[key] = self._versions(key, partition is not None)
        recorded = self._latest[key].get(partition) == done.artifact.manifest.sha256
        return recorded and (not self._backfill or (key, partition) in self._of_backfill)

    def record(self, step: Step, done: Done) -> None:
        """Store the materialization with its metadata and the outcome of every check."""
        key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
        facts = identity(step.corpus, done.artifact)
        for event in self._events(step, done, key, partition, tags_of(done.artifact, facts)):
            self._instance.report_dagster_event(event, self._run.run_id)
        self._tag_run(run_tags_of(facts))
        self._latest.setdefault(key, {})[partition] = done.artifact.manifest.sha256
        if self._backfill:
            self._of_backfill.add((key, partition))

    @cached_property
    def _of_backfill(self) -> set[tuple[dg.AssetKey, str | None]]:
        """What the runs of our backfill have recorded: ours may go on where an earlier one was killed."""
        runs = self._instance.get_run_ids(dg.RunsFilter(tags={BACKFILL_ID_TAG: self._backfill}))
        return {place for run_id in runs for place in self._recorded_by(run_id)}

    def _recorded_by(self, run_id: str) -> Iterator[tuple[dg.AssetKey, str | None]]:
        kind, cursor, more = DagsterEventType.ASSET_MATERIALIZATION, None, True
        while more:
            page = self._instance.get_records_for_run(run_id, cursor, kind, _PAGE)
            for record in page.records:
                if made := record.event_log_entry.asset_materialization:
                    yield made.asset_key, made.partition
            cursor, more = page.cursor, page.has_more

    def _tag_run(self, tags: dict[str, str]) -> None:
        """Tag the run with what its steps share; a run that trains its tokenizer has its commit from then on."""
        new = {key: value for key, value in tags.items() if self._tagged.get(key) != value}
        if new:
            self._instance.add_run_tags(self._run.run_id, new)
            self._tagged |= new

    def _versions(self, key: dg.AssetKey, partitioned: bool) -> dict[str | None, str]:
        if not partitioned:
            event = self._instance.get_latest_materialization_event(key)
            made = event.asset_materialization if event else None
            return {None: (made.tags or {}).get(DATA_VERSION_TAG, "")} if made else {}
        kind = DagsterEventType.ASSET_MATERIALIZATION
        tags = self._instance.event_log_storage.get_latest_tags_by_partition(key, kind, [DATA_VERSION_TAG])
        return {partition: found.get(DATA_VERSION_TAG, "") for partition, found in tags.items()}

    def _events(
        self, step: Step, done: Done, key: dg.AssetKey, partition: str | None, tags: dict[str, str]
    ) -> Iterator[DagsterEvent]:
        materialization = dg.AssetMaterialization(
            key,
            partition=partition,
            metadata=describe(step.corpus, done),
            tags=tags,
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
