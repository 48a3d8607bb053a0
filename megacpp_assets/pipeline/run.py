"""Brings a corpus up to date: which steps are outdated, their order, how many run at once, and when the tokenizer is
pinned.

Every step runs through here, whether the command line, Dagster's UI or a schedule asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import psutil

from megacpp_assets.compute.executors.select import worker_count
from megacpp_assets.compute.lifetime import signals_deferred
from megacpp_assets.compute.tasks import Budget, Task, run_tasks
from megacpp_assets.compute.worker_process import WorkerProcess
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.launch.client.drive import release_lost
from megacpp_assets.pipeline.execute import Done, examine_steps, require_passed, result_of
from megacpp_assets.pipeline.pins.pinning import pin_published
from megacpp_assets.pipeline.stages import TOKENIZER
from megacpp_assets.pipeline.steps import RunPlan, Step, planned_steps
from megacpp_assets.pipeline.worker import task_of
from megacpp_assets.storage.root.slots import SlotLocks

_MEMORY_SHARE = 0.8


class Watch(Protocol):
    """Callbacks about every step, all from one thread."""

    def step_was_current(self, step: Step, done: Done) -> None:
        """The step was current, so nothing ran."""

    def step_waits(self, step: Step, found: str) -> None:
        """Other runs hold the slots of the resource that the step needs; `found` names them. Called once per step."""

    def step_starts(self, step: Step) -> None:
        """A worker starts the step."""

    def step_progressed(self, step: Step, done: int, total: int) -> None:
        """The step has completed `done` of `total` units of its own."""

    def step_ended(self, step: Step, done: Done) -> None:
        """The step ran and passed its checks."""


class Records(Protocol):
    """Records finished steps: in Dagster's event log, which repeats what manifests and receipts say."""

    def has(self, step: Step, done: Done) -> bool:
        """Return whether exactly this result is recorded."""

    def progressed(self, step: Step) -> None:
        """The step made progress, so its present state may be recorded. Called often."""

    def record(self, step: Step, done: Done) -> None:
        """Record the result and every check, also those that failed."""


def machine_budget() -> Budget:
    """Return the cores that this process may use (`MEGACPP_WORKERS` if set) and four fifths of the free memory."""
    return Budget(worker_count(), int(psutil.virtual_memory().available * _MEMORY_SHARE))


def run_plan(corpus: Corpus, plan: RunPlan, watch: Watch, records: Records, budget: Budget) -> Corpus:
    """Bring everything that `plan` asks for up to date; return the corpus with its tokenizer pinned.

    Raises the first failure of a step, or `CheckFailed`, after all steps that do not depend on it have ended.
    """
    return run_steps(corpus, planned_steps(corpus, plan), watch, records, budget)


def run_steps(
    corpus: Corpus, steps: Sequence[Step], watch: Watch, records: Records, budget: Budget, *, retrain: bool = False
) -> Corpus:
    """Run the outdated ones of `steps`. Each step is examined once.

    With `retrain` the tokenizer is trained although one is pinned, and is pinned when it has passed its checks. Jobs
    that a killed launcher left running are released first.
    """
    release_lost(corpus.root)
    state = _Run(corpus, {step.name: step for step in steps}, watch, records, retrain)
    stale = []
    for step, done in examine_steps(steps, anew=TOKENIZER if retrain else ""):
        if done is None:
            stale.append(step)
        else:
            state.found(step, done)
    if stale:
        names = {step.name for step in stale}
        tasks = [task_of(step, frozenset(names.intersection(step.waits_for())), retrain=retrain) for step in stale]
        slots = SlotLocks(corpus.root, asdict(corpus.recipe.concurrency))
        run_tasks(tasks, budget, slots, state, lambda: WorkerProcess("megacpp_assets.pipeline.worker"))
    return state.corpus


@dataclass(slots=True)
class _Run:
    """The state of one call of `run_steps`; it receives the events of its tasks."""

    corpus: Corpus
    steps: dict[str, Step]
    watch: Watch
    records: Records
    retrain: bool

    def found(self, step: Step, done: Done) -> None:
        """Handle a step that is finished already and needs no worker."""
        self._settle(step, done)
        self.watch.step_was_current(step, done)

    def task_waits(self, task: Task, found: str) -> None:
        """See `TaskWatch`."""
        self.watch.step_waits(self.steps[task.name], found)

    def task_starts(self, task: Task) -> None:
        """See `TaskWatch`."""
        self.watch.step_starts(self.steps[task.name])

    def task_progressed(self, task: Task, done: int, total: int) -> None:
        """See `TaskWatch`."""
        self.watch.step_progressed(self.steps[task.name], done, total)
        with signals_deferred():
            self.records.progressed(self.steps[task.name])

    def task_ended(self, task: Task, result: Any) -> None:
        """See `TaskWatch`. `CheckFailed` if a blocking check of the step failed."""
        step = self.steps[task.name]
        done = result_of(step)
        self._settle(step, done)
        tell = self.watch.step_was_current if result["reused"] else self.watch.step_ended
        tell(step, done)

    def _settle(self, step: Step, done: Done) -> None:
        """Record the result, raise if its checks failed, and pin the tokenizer if the step made one."""
        with signals_deferred():
            if not self.records.has(step, done):
                self.records.record(step, done)
        require_passed(step, done)
        if step.stage.name == TOKENIZER:
            self.corpus = pin_published(self.corpus, replace_pinned=self.retrain)
