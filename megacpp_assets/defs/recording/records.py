"""Writes to Dagster's event log what is on disk: a materialization and its checks for each finished step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property

import dagster as dg
from dagster import DagsterEvent, DagsterEventType, DagsterRun

from megacpp_assets.defs.dagster_private import BACKFILL_ID_TAG
from megacpp_assets.defs.home.together import written_together
from megacpp_assets.defs.keys import key_of
from megacpp_assets.defs.recording.events import Event, comparison_of, events_of
from megacpp_assets.defs.recording.live import Live
from megacpp_assets.defs.recording.provenance import provenance
from megacpp_assets.defs.recording.recorded_run import COMMAND_TAG, MISSING
from megacpp_assets.defs.showing.identity import identity, run_tags_of, tags_of
from megacpp_assets.defs.showing.paths import DATA_VERSION_TAG
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.stages import COMPARED
from megacpp_assets.pipeline.steps import Step

_PAGE = 1000


class DagsterRecords:
    """`Records` in the event log of `instance`: events of an op of `run`, which is `op` or has the name of the
    stage.
    """

    def __init__(self, instance: dg.DagsterInstance, run: DagsterRun, op: str = "", live: Live | None = None) -> None:
        self._instance = instance
        self._run = run
        self._op = op
        self._backfill = run.tags.get(BACKFILL_ID_TAG, "")
        self._latest: dict[dg.AssetKey, dict[str | None, str]] = {}
        self._tagged: dict[str, str] = {}
        self._uncompared: list[Step] = []
        self._live = live or Live()

    def has(self, step: Step, done: Done) -> bool:
        """Return whether the latest materialization of the step's partition has exactly this manifest.

        Within a backfill it must belong to that backfill: Dagster fails a backfill that lacks an event of a partition.
        A kill between receipt and event leaves no event, and an audit would miss it. A folder that was missing and is
        back is recorded again, or its partition would stay failed.
        """
        key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
        if key not in self._latest:
            self._latest[key] = self._versions(key, partition is not None)
        recorded = self._latest[key].get(partition) == done.artifact.manifest.sha256
        recorded = recorded and not self._is_shown_as_missing(key, partition)
        return recorded and (not self._backfill or (key, partition) in self._of_backfill)

    def progressed(self, step: Step) -> None:
        """Record the present state of a training while it runs."""
        self._report(step, self._live.progressed(step))

    def record(self, step: Step, done: Done) -> None:
        """Record whether the step was materialized or failed, and the result of every check."""
        key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
        self._report(step, self._live.ended(step))
        facts = identity(step.corpus, done.artifact)
        self._report(step, events_of(step, done, tags_of(done.artifact, facts) | provenance(self._instance, step)))
        self._tag_run(run_tags_of(facts))
        if not done.receipt.passed:
            return
        self._latest.setdefault(key, {})[partition] = done.artifact.manifest.sha256
        if self._backfill:
            self._of_backfill.add((key, partition))
        if step.stage.name == COMPARED:
            self._uncompared.append(step)

    def record_comparisons(self) -> None:
        """Record how each recorded reference compares with the one that mixtures read.

        This happens at the end of a run, because the other one may have been built later in it.
        """
        while self._uncompared:
            step = self._uncompared.pop()
            self._report(step, comparison_of(step))

    def _report(self, step: Step, events: Iterable[Event]) -> None:
        reported = list(events)
        if not reported:
            return
        with written_together(self._instance, self._run.run_id):
            for kind, data in reported:
                op = self._op or step.stage.name
                event = DagsterEvent(kind.value, self._run.job_name, step_key=op, event_specific_data=data)
                self._instance.report_dagster_event(event, self._run.run_id)

    @cached_property
    def _of_backfill(self) -> set[tuple[dg.AssetKey, str | None]]:
        """Return what the runs of our backfill have recorded: this run may continue where an earlier one was killed."""
        runs = self._instance.get_run_ids(dg.RunsFilter(tags={BACKFILL_ID_TAG: self._backfill}))
        return {place for run_id in runs for place in self._recorded_by(run_id)}

    def _is_shown_as_missing(self, key: dg.AssetKey, partition: str | None) -> bool:
        reported = self._missing.get((key, partition))
        if reported is None:
            return False
        partitions = [partition] if partition else None
        made = self._instance.fetch_materializations(dg.AssetRecordsFilter(key, asset_partitions=partitions), limit=1)
        return bool(made.records) and made.records[0].timestamp < reported

    @cached_property
    def _missing(self) -> dict[tuple[dg.AssetKey, str | None], float]:
        """Return (asset, partition) -> when its folder was last reported as missing."""
        found: dict[tuple[dg.AssetKey, str | None], float] = {}
        for run_id in self._instance.get_run_ids(dg.RunsFilter(tags={COMMAND_TAG: MISSING})):
            kind = DagsterEventType.ASSET_OBSERVATION
            for record in self._instance.get_records_for_run(run_id, of_type=kind).records:
                seen = record.event_log_entry.asset_observation
                if seen is not None:
                    place = (seen.asset_key, seen.partition)
                    found[place] = max(found.get(place, 0.0), record.timestamp)
        return found

    def _recorded_by(self, run_id: str) -> Iterator[tuple[dg.AssetKey, str | None]]:
        kind, cursor, more = DagsterEventType.ASSET_MATERIALIZATION, None, True
        while more:
            page = self._instance.get_records_for_run(run_id, cursor, kind, _PAGE)
            for record in page.records:
                if made := record.event_log_entry.asset_materialization:
                    yield made.asset_key, made.partition
            cursor, more = page.cursor, page.has_more

    def _tag_run(self, tags: dict[str, str]) -> None:
        """Tag the run with what its steps share. A run that trains its tokenizer gets the tokenizer's commit then."""
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


@contextmanager
def recording(context: dg.AssetExecutionContext | dg.OpExecutionContext) -> Iterator[DagsterRecords]:
    """Return `Records` for the run and the op that Dagster executes."""
    op = context.op_execution_context if isinstance(context, dg.AssetExecutionContext) else context
    records = DagsterRecords(context.instance, context.run, str(op.op_handle))
    try:
        yield records
    finally:
        records.record_comparisons()
