"""Bringing a corpus up to date: what is stale, in which order, how much at once, and when the tokenizer is pinned.

This is the one way in which a step is ever run, whoever asks for it: the command line, Dagster's UI, or a schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import psutil

from megacpp_assets.compute.lifetime import signals_deferred
from megacpp_assets.compute.select import worker_count
from megacpp_assets.compute.tasks import Budget, Task, run_tasks
from megacpp_assets.compute.worker_process import WorkerProcess
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.launch.client.drive import release_lost
from megacpp_assets.pipeline.execute import Done, look_at, require_passed, result_of
from megacpp_assets.pipeline.pinning import pin_published
from megacpp_assets.pipeline.stages import TOKENIZER
from megacpp_assets.pipeline.steps import Plan, Step, planned_steps
from megacpp_assets.pipeline.worker import task_of
from megacpp_assets.storage.slots import SlotLocks

_MEMORY_SHARE = 0.8


class Watch(Protocol):
    """Hears of every step, from one thread."""

    def step_done_before(self, step: Step, done: Done) -> None:
        """The step was current: nothing ran."""

    def step_waits(self, step: Step, found: str) -> None:
        """Other runs have slots of the resource that the step takes, as `found` tells. It is said once."""

    def step_starts(self, step: Step) -> None:
        """A worker begins the step."""

    def step_goes_on(self, step: Step, done: int, total: int) -> None:
        """The step has done `done` of `total` units of its own."""

    def step_ended(self, step: Step, done: Done) -> None:
        """A step ran and passed its checks."""


class Records(Protocol):
    """Where every finished step is recorded: Dagster's event log, a projection of manifests and receipts."""

    def has(self, step: Step, done: Done) -> bool:
        """Whether this very result is recorded."""

    def goes_on(self, step: Step) -> None:
        """The step has got further: what there is to see of it may be recorded. It is called often."""

    def record(self, step: Step, done: Done) -> None:
        """Record the result and every check, those that failed included."""


def machine_budget() -> Budget:
    """The cores that this process may use (`MEGACPP_WORKERS` if set) and four fifths of the memory that is free."""
    return Budget(worker_count(), int(psutil.virtual_memory().available * _MEMORY_SHARE))


def run_plan(corpus: Corpus, plan: Plan, watch: Watch, records: Records, budget: Budget) -> Corpus:
    """Bring everything that the plan asks for up to date; the corpus with its tokenizer pinned.

    Raises the first failure of a step, or `CheckFailed`, when everything that does not wait for it is done.
    """
    return run_steps(corpus, planned_steps(corpus, plan), watch, records, budget)


def run_steps(
    corpus: Corpus, steps: Sequence[Step], watch: Watch, records: Records, budget: Budget, *, retrain: bool = False
) -> Corpus:
    """Run those of `steps` that are stale, and look at each once. With `retrain` the tokenizer among them is trained
    although one is pinned, and pinned once it has passed. What a killed launcher left running is released first.
    """
    release_lost(corpus.root)
    state = _Run(corpus, {step.name: step for step in steps}, watch, records, retrain)
    stale = []
    for step, done in look_at(steps, anew=TOKENIZER if retrain else ""):
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
    """The state of one `run_steps`, which hears of its tasks."""

    corpus: Corpus
    steps: dict[str, Step]
    watch: Watch
    records: Records
    retrain: bool

    def found(self, step: Step, done: Done) -> None:
        """The step is finished: it needs no worker."""
        self._settle(step, done)
        self.watch.step_done_before(step, done)

    def task_waits(self, task: Task, found: str) -> None:
        """See `TaskWatch`."""
        self.watch.step_waits(self.steps[task.name], found)

    def task_starts(self, task: Task) -> None:
        """See `TaskWatch`."""
        self.watch.step_starts(self.steps[task.name])

    def task_goes_on(self, task: Task, done: int, total: int) -> None:
        """See `TaskWatch`."""
        self.watch.step_goes_on(self.steps[task.name], done, total)
        with signals_deferred():
            self.records.goes_on(self.steps[task.name])

    def task_ended(self, task: Task, result: Any) -> None:
        """See `TaskWatch`. `CheckFailed` if a blocking check of the step failed."""
        step = self.steps[task.name]
        done = result_of(step)
        self._settle(step, done)
        tell = self.watch.step_done_before if result["reused"] else self.watch.step_ended
        tell(step, done)

    def _settle(self, step: Step, done: Done) -> None:
        """Everything that follows from a result: its record, its verdict, and the pin of a tokenizer."""
        with signals_deferred():
            if not self.records.has(step, done):
                self.records.record(step, done)
        require_passed(step, done)
        if step.stage.name == TOKENIZER:
            self.corpus = pin_published(self.corpus, replace_pinned=self.retrain)
