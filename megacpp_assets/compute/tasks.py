"""Runs dependent tasks in worker processes, within a budget of cores and memory and within slots of resources.

The order of tasks changes no byte, because a task reads what finished tasks left on disk.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from megacpp_assets.compute.cores import ELASTIC
from megacpp_assets.compute.worker_process import GRACE_SECONDS, Message, WorkerProcess, raised
from megacpp_assets.contract.errors import MegacppError, SpecError, WorkerDied

_LOOK_SECONDS: Final = 1.0
"""The pause between two looks for a free slot. Nothing notifies this process when another run frees one."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task. `after` names the tasks that it depends on, `memory` is in bytes, and `payload` is JSON-able.

    The worker receives the payload with `cores`, the number of cores that the task may use. The task needs one slot of
    its `resource`; "" is none.
    """

    name: str
    payload: Message
    after: frozenset[str] = frozenset()
    cores: int = 1
    memory: int = 0
    resource: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """The cores and the memory (bytes) of all running tasks together. A task that needs more runs alone."""

    cores: int
    memory: int

    def __post_init__(self) -> None:
        if self.cores < 1 or self.memory < 1:
            raise SpecError("budget of cores and memory", expected="at least 1 of each", found=self)


class Slots(Protocol):
    """Slots of resources, counted over all runs on a data root: each resource has a fixed number of them."""

    def take(self, resource: str, who: str) -> bool:
        """Take a slot for `who` and return True, or return False if none is free."""

    def release(self, who: str) -> None:
        """Free the slots of `who`."""

    def held_elsewhere(self, resource: str) -> str:
        """Return in words how many slots there are and which other runs hold some; "" if none does."""


class TaskWatch(Protocol):
    """Callbacks about every task, all from the thread that calls `run_tasks`."""

    def task_waits(self, task: Task, found: str) -> None:
        """The task waits for a slot that another run holds; `found` says which. Called once per task."""

    def task_starts(self, task: Task) -> None:
        """A worker starts the task."""

    def task_progressed(self, task: Task, done: int, total: int) -> None:
        """The task has completed `done` of `total` units of its own."""

    def task_ended(self, task: Task, result: Any) -> None:
        """The task has succeeded. Dependent tasks start after this returns. Raising `MegacppError` fails the task."""


@dataclass(slots=True)
class _Running:
    task: Task
    cores: int


@dataclass(slots=True)
class _Floor:
    """The state of one call of `run_tasks`.

    A task is in `waiting`, then in `running`, then in `done`, or its error is in `failed`. A task that depends on a
    failed one stays in `waiting`.
    """

    waiting: dict[str, Task]
    budget: Budget
    start: Callable[[], WorkerProcess]
    slots: Slots
    done: set[str] = field(default_factory=set)
    failed: list[MegacppError] = field(default_factory=list)
    idle: list[WorkerProcess] = field(default_factory=list)
    running: dict[WorkerProcess, _Running] = field(default_factory=dict)
    reported_waiting: set[str] = field(default_factory=set)
    """Tasks for which `task_waits` was called."""

    def ready(self) -> list[Task]:
        """Return the waiting tasks whose dependencies have all succeeded, the most urgent first."""
        return [task for task in self.waiting.values() if task.after <= self.done]

    def ready_worker(self) -> WorkerProcess:
        """Return a worker for the next task: an idle one that still runs, or a new one."""
        while self.idle:
            if (worker := self.idle.pop()).is_alive:
                return worker
            worker.stop()
        return self.start()

    @property
    def free_cores(self) -> int:
        return self.budget.cores - sum(running.cores for running in self.running.values())

    @property
    def free_memory(self) -> int:
        return self.budget.memory - sum(running.task.memory for running in self.running.values())


def run_tasks(
    tasks: Sequence[Task], budget: Budget, slots: Slots, watch: TaskWatch, start: Callable[[], WorkerProcess]
) -> None:
    """Run every task after those that it depends on.

    Ready tasks with the longest chain of dependent tasks start first, and equal ones in the order of `tasks`. After a
    failure only the dependent tasks are left out. The first failure is raised when everything else has ended. If the
    function returns, every task has succeeded. However it ends, no worker is left running.
    """
    floor = _Floor({task.name: task for task in critical_order(tasks)}, budget, start, slots)
    with selectors.DefaultSelector() as selector:
        try:
            while floor.running or floor.ready():
                without_slot = _start_ready(floor, watch, selector)
                _report_waiting(floor, watch, without_slot)
                for key, _ in selector.select(_LOOK_SECONDS if without_slot else None):
                    _hear(floor, watch, selector, key.fileobj)  # type: ignore[arg-type]
        finally:
            _stop([*floor.running, *floor.idle])
            for running in floor.running.values():
                slots.release(running.task.name)
    if floor.failed:
        raise floor.failed[0]
    if floor.waiting:
        raise AssertionError(f"nothing failed, and these tasks were not run: {', '.join(floor.waiting)}")


def critical_order(tasks: Sequence[Task]) -> list[Task]:
    """Return `tasks` sorted by the length of the longest chain of dependent tasks, longest first; the sort is stable.

    `SpecError` for a task that depends on itself or on a missing task.
    """
    named = {task.name: task for task in tasks}
    behind = dict.fromkeys(named, 0)
    for name in reversed(_topological(named)):
        for earlier in named[name].after:
            behind[earlier] = max(behind[earlier], behind[name] + 1)
    return sorted(tasks, key=lambda task: -behind[task.name])


def _topological(named: Mapping[str, Task]) -> list[str]:
    order: dict[str, None] = {}
    while len(order) < len(named):
        ready = [name for name, task in named.items() if name not in order and task.after <= order.keys()]
        if not ready:
            stuck = ", ".join(sorted(named.keys() - order.keys()))
            raise SpecError("tasks", expected="no task that depends on itself or on a missing task", found=stuck)
        order |= dict.fromkeys(ready)
    return list(order)


def _start_ready(floor: _Floor, watch: TaskWatch, selector: selectors.BaseSelector) -> list[Task]:
    """Start every ready task that fits and gets its slot; return those that fit and get none.

    A large task that does not fit yet does not delay smaller ones. If no task runs, every task fits.
    """
    fitting = [task for task in floor.ready() if _fits(task, floor, 1)]
    startable = [task for task in fitting if not task.resource or floor.slots.take(task.resource, task.name)]
    for place, task in enumerate(startable):
        cores = _cores_for(task, floor, len(startable) - place)
        if not _fits(task, floor, cores):
            floor.slots.release(task.name)
            continue
        del floor.waiting[task.name]
        worker = floor.ready_worker()
        selector.register(worker, selectors.EVENT_READ)
        floor.running[worker] = _Running(task, cores)
        watch.task_starts(task)
        worker.send({**task.payload, "cores": cores})
    with_slot = {task.name for task in startable}
    return [task for task in fitting if task.name not in with_slot]


def _report_waiting(floor: _Floor, watch: TaskWatch, without_slot: Sequence[Task]) -> None:
    """Report each task that waits for a slot of another run, once.

    By now the other run may have freed the slot. Then nothing is reported, and the next look takes it.
    """
    found = {resource: floor.slots.held_elsewhere(resource) for resource in {task.resource for task in without_slot}}
    for task in without_slot:
        if found[task.resource] and task.name not in floor.reported_waiting:
            floor.reported_waiting.add(task.name)
            watch.task_waits(task, found[task.resource])


def _fits(task: Task, floor: _Floor, cores: int) -> bool:
    """Return whether the task fits into the budget with `cores` cores, or with its own number if that is larger."""
    if not floor.running:
        return True
    asked = max(cores, min(task.cores, floor.budget.cores))
    return asked <= floor.free_cores and task.memory <= floor.free_memory


def _cores_for(task: Task, floor: _Floor, contenders: int) -> int:
    if task.cores == ELASTIC:
        return max(1, floor.free_cores // contenders)
    return min(task.cores, floor.budget.cores)


def _hear(floor: _Floor, watch: TaskWatch, selector: selectors.BaseSelector, worker: WorkerProcess) -> None:
    task = floor.running[worker].task
    try:
        for message in worker.receive():
            if "progress" in message:
                watch.task_progressed(task, *message["progress"])
            else:
                _leave(floor, selector, worker)
                floor.idle.append(worker)
                _finish(floor, watch, task, message)
    except EOFError as ending:
        _leave(floor, selector, worker)
        worker.stop()
        floor.failed.append(WorkerDied(task.name, expected="an answer", found=str(ending), do="run it again"))


def _leave(floor: _Floor, selector: selectors.BaseSelector, worker: WorkerProcess) -> None:
    selector.unregister(worker)
    floor.slots.release(floor.running.pop(worker).task.name)


def _finish(floor: _Floor, watch: TaskWatch, task: Task, message: Message) -> None:
    try:
        if "error" in message:
            raise raised(message["error"])
        watch.task_ended(task, message["result"])
    except MegacppError as error:
        floor.failed.append(error)
    else:
        floor.done.add(task.name)


def _stop(workers: Iterable[WorkerProcess]) -> None:
    """Stop the workers. All are asked to end before any is waited for."""
    every = list(workers)
    for worker in every:
        worker.ask_to_stop()
    deadline = time.monotonic() + GRACE_SECONDS
    for worker in every:
        worker.stop(deadline)
