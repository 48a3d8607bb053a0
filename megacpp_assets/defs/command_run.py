"""`megacpp run` in Dagster's eyes: one run, begun with its first event, ended as the command ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from dagster import DagsterEvent, DagsterEventType, DagsterRun

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.defs.instance import open_instance
from megacpp_assets.defs.keys import register
from megacpp_assets.defs.records import DagsterRecords
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.stages import CHECKPOINT
from megacpp_assets.pipeline.steps import Step

JOB = "megacpp_run"
LAUNCHER_TAG = "megacpp/launcher"
LAUNCHER = "megacpp run"


class CommandRun:
    """`Records` under a run of their own. A command that finds nothing to record makes no run."""

    def __init__(self, instance: dg.DagsterInstance, corpus: Corpus) -> None:
        tags = {LAUNCHER_TAG: LAUNCHER, "megacpp/dataset": corpus.dataset}
        self._instance = instance
        self._corpus = corpus
        self._run = DagsterRun(job_name=JOB, status=dg.DagsterRunStatus.NOT_STARTED, tags=tags)
        self._records = DagsterRecords(instance, self._run)
        self._begun = False
        self.recorded = 0

    def has(self, step: Step, done: Done) -> bool:
        """See `Records`."""
        return self._records.has(step, done)

    def goes_on(self, step: Step) -> None:
        """See `Records`."""
        if step.stage.name == CHECKPOINT:
            self.begin()
            self._records.goes_on(step)

    def record(self, step: Step, done: Done) -> None:
        """See `Records`."""
        self.begin()
        self._records.record(step, done)
        self.recorded += 1

    def begin(self) -> None:
        """Make the run known to Dagster, unless it is."""
        if self._begun:
            return
        self._begun = True
        register(self._instance, self._corpus.dataset, self._corpus.known_refs)
        _fail_dead_runs(self._instance)
        self._instance.add_run(self._run)
        self._say(DagsterEventType.RUN_START, "megacpp run started")

    def end(self, failure: str = "") -> None:
        """Tell Dagster how the command ended."""
        if not self._begun:
            return
        self._records.tell_comparisons()
        if failure:
            self._instance.report_run_failed(self._run, failure)
        else:
            self._say(DagsterEventType.RUN_SUCCESS, "megacpp run ended")

    def _say(self, kind: DagsterEventType, message: str) -> None:
        self._instance.report_dagster_event(DagsterEvent(kind.value, JOB, message=message), self._run.run_id)


@contextmanager
def command_run(root: Path, corpus: Corpus) -> Iterator[CommandRun]:
    """The run of a command on the instance of `root`; it fails with what the block raises."""
    with open_instance(root) as instance:
        run = CommandRun(instance, corpus)
        try:
            yield run
        except BaseException as error:
            run.end(str(error) or type(error).__name__)
            raise
        run.end()


def _fail_dead_runs(instance: dg.DagsterInstance) -> None:
    """Runs of an earlier command that was killed still look started; only one of us runs at a time."""
    unfinished = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED], tags={LAUNCHER_TAG: LAUNCHER})
    for run in instance.get_runs(unfinished):
        instance.report_run_failed(run, "the process was killed")
