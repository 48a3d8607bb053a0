"""Records a command such as `megacpp run` in Dagster, as one run of the job of the dataset's line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.keys import register
from megacpp_assets.defs.line_job import config_of, line_job, line_job_name
from megacpp_assets.defs.recording.recorded_run import Command, RecordedRun, ending
from megacpp_assets.defs.recording.records import DagsterRecords
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.run import Watch
from megacpp_assets.pipeline.stages import STAGE_NAMES
from megacpp_assets.pipeline.steps import Step


class CommandRun:
    """The `Records` and the `Watch` of a command's steps. Events are passed on to `watch`.

    A command that finds every step current and recorded leaves no run.
    """

    def __init__(self, instance: dg.DagsterInstance, corpus: Corpus, command: Command, steps: Sequence[Step]) -> None:
        self._instance = instance
        self._corpus = corpus
        self._command = command
        self._run = RecordedRun(instance, command)
        self._records = DagsterRecords(instance, self._run.run)
        self._left = Counter(step.stage.name for step in steps)
        self._watch: Watch | None = None
        self.recorded = 0

    def forwarding_to(self, watch: Watch) -> CommandRun:
        """Return a copy that also passes every event to `watch`."""
        self._watch = watch
        return self

    def has(self, step: Step, done: Done) -> bool:
        """See `Records`."""
        return self._records.has(step, done)

    def progressed(self, step: Step) -> None:
        """See `Records`."""
        self._records.progressed(step)

    def record(self, step: Step, done: Done) -> None:
        """See `Records`."""
        self._start(step)
        self._records.record(step, done)
        self.recorded += 1

    def step_was_current(self, step: Step, done: Done) -> None:
        """See `Watch`."""
        self._complete(step)
        if self._watch:
            self._watch.step_was_current(step, done)

    def step_waits(self, step: Step, found: str) -> None:
        """See `Watch`."""
        self._run.say(step.stage.name, f"{step.name}: waits for a slot of {step.resource}, {found}", to_events=False)
        if self._watch:
            self._watch.step_waits(step, found)

    def step_starts(self, step: Step) -> None:
        """See `Watch`."""
        self._start(step)
        self._run.say(step.stage.name, f"{step.name}: started")
        if self._watch:
            self._watch.step_starts(step)

    def step_progressed(self, step: Step, done: int, total: int) -> None:
        """See `Watch`."""
        if self._watch:
            self._watch.step_progressed(step, done, total)

    def step_ended(self, step: Step, done: Done) -> None:
        """See `Watch`."""
        self._run.say(step.stage.name, f"{step.name}: made {done.artifact.path} in {done.receipt.seconds:.1f} s")
        self._complete(step)
        if self._watch:
            self._watch.step_ended(step, done)

    def end(self, failure: str = "", *, interrupted: bool = False) -> None:
        """Record how the command ended, and the state of every stage that did not end by itself."""
        if not self._run.begun:
            return
        self._records.record_comparisons()
        for stage in self._command.ops:
            left = self._left[stage]
            if self._run.has_started(stage) and left:
                self._run.fail(stage, f"{left} partitions were not made: {failure or 'interrupted'}")
            elif not self._run.has_started(stage):
                self._run.skip(stage, "what it reads was not made" if left else "all partitions were complete")
        if failure:
            self._run.say(self._command.ops[-1], failure, to_events=False)
        self._run.end(failure, interrupted=interrupted)

    def _start(self, step: Step) -> None:
        if not self._run.begun:
            register(self._instance, self._corpus.dataset, self._corpus.known_refs)
        self._run.start(step.stage.name)

    def _complete(self, step: Step) -> None:
        stage = step.stage.name
        self._left[stage] -= 1
        if not self._left[stage] and self._run.has_started(stage):
            self._run.succeed(stage)


@contextmanager
def command_run(
    root: Path, corpus: Corpus, steps: Sequence[Step], *, title: str = "megacpp run", retrain: bool = False
) -> Iterator[CommandRun]:
    """Record the run of a command over `steps` in the instance of `root`. If the block raises, the run fails with
    that error.
    """
    stages = {step.stage.name for step in steps}
    command = Command(
        title,
        "run",
        line_job_name(corpus.dataset),
        lambda: line_job(corpus),
        tuple(name for name in STAGE_NAMES if name in stages),
        config_of(steps, train_tokenizer_again=retrain),
        {"megacpp/dataset": corpus.dataset},
    )
    with open_instance(root) as instance:
        run = CommandRun(instance, corpus, command, steps)
        with ending(run.end):
            yield run
