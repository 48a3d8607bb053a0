"""Tasks run after those they wait for, within their budget, and leave no process behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.compute.cores import ELASTIC
from megacpp_assets.compute.tasks import Budget, Slots, Task, critical_order, run_tasks
from megacpp_assets.compute.worker_process import WorkerProcess
from megacpp_assets.contract.errors import CheckFailed, SpecError, WorkerDied
from megacpp_assets.contract.extras import MissingExtra
from megacpp_assets.storage.root.slots import SlotLocks

GIB = 1 << 30


@dataclass
class Heard:
    """A watch that remembers."""

    started: list[str] = field(default_factory=list)
    progress: list[tuple[str, int, int]] = field(default_factory=list)
    ended: dict[str, Any] = field(default_factory=dict)
    refuses: str = ""
    waited: dict[str, str] = field(default_factory=dict)

    def task_waits(self, task: Task, found: str) -> None:
        assert task.name not in self.waited
        self.waited[task.name] = found

    def task_starts(self, task: Task) -> None:
        self.started.append(task.name)

    def task_progressed(self, task: Task, done: int, total: int) -> None:
        self.progress.append((task.name, done, total))

    def task_ended(self, task: Task, result: Any) -> None:
        if task.name == self.refuses:
            raise CheckFailed(task.name, expected="a pin", found="another")
        self.ended[task.name] = result


def run(tasks: Sequence[Task], budget: Budget, watch: Heard, slots: Slots | None = None) -> None:
    run_tasks(tasks, budget, slots or SlotLocks(Path(), {}), watch, start)


def start() -> WorkerProcess:
    return WorkerProcess("tests.compute.graph_tasks")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log"
    file.touch()
    return file


def task(
    log: Path,
    name: str,
    *,
    after: tuple[str, ...] = (),
    cores: int = 1,
    memory: int = 0,
    resource: str = "",
    **values: Any,
) -> Task:
    return Task(name, {"name": name, "log": str(log), **values}, frozenset(after), cores, memory, resource)


def lines(log: Path) -> list[str]:
    return [" ".join(line.split()[:2]) for line in log.read_text().splitlines()]


def test_a_task_starts_when_those_it_waits_for_have_ended(log: Path) -> None:
    heard = Heard()
    tasks = [task(log, "c", after=("a", "b")), task(log, "a"), task(log, "b", after=("a",))]
    run(tasks, Budget(4, GIB), heard)
    assert lines(log) == ["start a", "end a", "start b", "end b", "start c", "end c"]
    assert heard.ended == {name: {"answer": name} for name in "abc"}


def test_tasks_that_do_not_wait_for_each_other_run_at_once(log: Path) -> None:
    heard = Heard()
    # Each would wait for ever if the other had to end first.
    run([task(log, "a", waits_for=["b"]), task(log, "b", waits_for=["a"])], Budget(2, GIB), heard)
    assert set(heard.ended) == {"a", "b"}


def test_ready_tasks_are_not_compared_with_each_other(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step may have thousands, and comparing each with all others takes minutes."""
    compared: list[str] = []
    monkeypatch.setattr(Task, "__eq__", lambda task, _other: bool(compared.append(task.name)))
    run([task(log, name) for name in "abcd"], Budget(1, GIB), Heard())
    assert not compared


def test_one_worker_process_runs_many_tasks(log: Path) -> None:
    run([task(log, name) for name in "abcd"], Budget(1, GIB), Heard())
    assert len({line.split()[3] for line in log.read_text().splitlines() if line.startswith("start")}) == 1


def test_an_idle_worker_that_was_killed_gets_no_task(log: Path) -> None:
    killed: list[int] = []

    class Killing(Heard):
        def task_ended(self, task: Task, result: Any) -> None:
            super().task_ended(task, result)
            if task.name == "a":  # its worker is idle now
                killed.append(int(log.read_text().splitlines()[0].split()[3]))
                os.kill(killed[0], signal.SIGKILL)
                while psutil.Process(killed[0]).status() != psutil.STATUS_ZOMBIE:
                    time.sleep(0.01)

    heard = Killing()
    run([task(log, "a"), task(log, "b", after=("a",))], Budget(1, GIB), heard)
    assert killed
    assert set(heard.ended) == {"a", "b"}


def test_a_task_that_exceeds_the_free_memory_waits(log: Path) -> None:
    run([task(log, name, memory=GIB) for name in "abc"], Budget(3, GIB), Heard())
    assert [line.split()[0] for line in lines(log)] == ["start", "end"] * 3


def test_a_task_larger_than_the_budget_runs_alone(log: Path) -> None:
    run([task(log, "big", cores=64, memory=9 * GIB), task(log, "small")], Budget(2, GIB), Heard())
    assert lines(log) == ["start big", "end big", "start small", "end small"]


def test_an_elastic_task_shares_the_free_cores_with_those_that_could_start_too(log: Path) -> None:
    run([task(log, "alone", cores=ELASTIC)], Budget(6, GIB), Heard())
    run([task(log, name, cores=ELASTIC) for name in ("one", "two")], Budget(6, GIB), Heard())
    granted = {words[1]: words[2] for line in log.read_text().splitlines() if (words := line.split())[0] == "start"}
    assert granted == {"alone": "6", "one": "3", "two": "3"}


def test_tasks_of_one_resource_run_as_many_at_a_time_as_it_has_slots_and_hold_up_no_others(log: Path) -> None:
    heard = Heard()
    parse = [task(log, name, resource="parsing", waits_for=["other"]) for name in ("one", "two", "three")]
    run([*parse, task(log, "other")], Budget(4, GIB), heard, SlotLocks(log.parent, {"parsing": 1}))
    order = [line for line in lines(log) if "other" not in line]
    assert [line.split()[0] for line in order] == ["start", "end"] * 3
    assert heard.waited == {}  # its own tasks are nothing that a run waits for


def test_the_cores_of_tasks_without_a_slot_go_to_those_that_have_one(log: Path) -> None:
    tasks = [task(log, name, cores=ELASTIC, resource="parsing") for name in ("one", "two", "three")]
    run(tasks, Budget(6, GIB), Heard(), SlotLocks(log.parent, {"parsing": 2}))
    granted = [line.split()[2] for line in log.read_text().splitlines() if line.startswith("start")]
    assert granted[:2] == ["3", "3"]


OTHER_RUN = (
    "import sys; from pathlib import Path; from tests.compute.test_tasks import *;"
    "run([task(Path(sys.argv[1]), 'a', resource='parsing', does='sleep')], Budget(1, GIB), Heard(),"
    " SlotLocks(Path(sys.argv[1]).parent, {'parsing': 1}))"
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_task_waits_for_the_slot_of_another_run_and_reports_its_holder(log: Path, number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", OTHER_RUN, str(log)], stderr=subprocess.DEVNULL) as other:

        class HeardAndEnds(Heard):
            def task_waits(self, task: Task, found: str) -> None:
                super().task_waits(task, found)
                assert lines(log) == ["start a"]
                os.kill(other.pid, number)

        _pid_of_first(log)
        heard = HeardAndEnds()
        run([task(log, "b", resource="parsing")], Budget(1, GIB), heard, SlotLocks(log.parent, {"parsing": 1}))
    assert heard.waited == {"b": f"1 in all, held by process {other.pid} on {socket.gethostname()} for a"}
    assert set(heard.ended) == {"b"}


def test_a_task_whose_slot_is_freed_before_its_holder_is_known_runs_all_the_same(log: Path) -> None:
    other = SlotLocks(log.parent, {"parsing": 1})
    assert other.take("parsing", "another run")

    class FreedAtOnce(SlotLocks):
        def take(self, resource: str, who: str) -> bool:
            taken = SlotLocks.take(self, resource, who)
            other.release("another run")
            return taken

    heard = Heard()
    tasks = [task(log, "a", resource="parsing"), task(log, "b", after=("a",))]
    run(tasks, Budget(1, GIB), heard, FreedAtOnce(log.parent, {"parsing": 1}))
    assert list(heard.ended) == ["a", "b"] and heard.waited == {}


def test_a_run_that_ends_early_gives_its_slots_back(log: Path) -> None:
    slots = SlotLocks(log.parent, {"parsing": 1})
    heard = Heard(refuses="a")
    with pytest.raises(CheckFailed):
        run([task(log, "a", resource="parsing")], Budget(1, GIB), heard, slots)
    with pytest.raises(WorkerDied):
        run([task(log, "b", resource="parsing", does="die")], Budget(1, GIB), Heard(), slots)
    assert SlotLocks(log.parent, {"parsing": 1}).take("parsing", "another")


def test_progress_is_reported(log: Path) -> None:
    heard = Heard()
    run([task(log, "a", does="count")], Budget(1, GIB), heard)
    assert heard.progress == [("a", 1, 2), ("a", 2, 2)]


def test_a_thread_of_an_ended_task_reports_no_progress_of_the_next(log: Path) -> None:
    heard = Heard()
    run([task(log, "a", does="count later"), task(log, "b", after=("a",), does="wait")], Budget(1, GIB), heard)
    assert {name for name, _, _ in heard.progress} <= {"a"}


def test_a_failure_skips_dependent_tasks_and_is_raised_at_the_end(log: Path) -> None:
    heard = Heard()
    tasks = [task(log, "bad", does="refuse"), task(log, "behind", after=("bad",)), task(log, "other")]
    with pytest.raises(CheckFailed, match="a check; expected 1; found 2; what to do: mend it") as caught:
        run(tasks, Budget(1, GIB), heard)
    assert caught.value.lines().splitlines() == ["a check", "  expected 1", "  found 2", "  what to do: mend it"]
    assert set(heard.ended) == {"other"}
    assert "behind" not in heard.started


def test_an_error_of_the_watch_fails_the_task(log: Path) -> None:
    heard = Heard(refuses="a")
    with pytest.raises(CheckFailed, match="another"):
        run([task(log, "a"), task(log, "b", after=("a",))], Budget(1, GIB), heard)
    assert heard.started == ["a"]


def test_an_unforeseen_error_comes_with_its_traceback(log: Path) -> None:
    with pytest.raises(WorkerDied, match="nobody foresaw this"):
        run([task(log, "a", does="blunder")], Budget(1, GIB), Heard())


def test_a_library_that_is_missing_in_the_worker_is_an_error_that_names_its_extra(log: Path) -> None:
    with pytest.raises(MissingExtra, match=r"^extra build; expected the module rensa; found none; what to do: pip"):
        run([task(log, "a", does="miss a library")], Budget(1, GIB), Heard())


def test_a_worker_that_dies_fails_only_its_task(log: Path) -> None:
    heard = Heard()
    with pytest.raises(WorkerDied, match="SIGKILL"):
        run([task(log, "a", does="die"), task(log, "b")], Budget(1, GIB), heard)
    assert set(heard.ended) == {"b"}


def test_circular_and_missing_dependencies_are_rejected(log: Path) -> None:
    for tasks in ([task(log, "a", after=("b",)), task(log, "b", after=("a",))], [task(log, "a", after=("x",))]):
        with pytest.raises(SpecError, match="depends on itself"):
            run(tasks, Budget(1, GIB), Heard())


@given(st.lists(st.sets(st.integers(0, 11)), max_size=12))
def test_the_order_puts_the_longest_chain_first_and_keeps_the_rest(earlier: list[set[int]]) -> None:
    tasks = [
        Task(str(number), {}, frozenset(str(other) for other in others if other < number))
        for number, others in enumerate(earlier)
    ]
    place = {each.name: position for position, each in enumerate(critical_order(tasks))}
    assert len(place) == len(tasks)
    assert all(place[other] < place[each.name] for each in tasks for other in each.after)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_a_parent_that_ends(log: Path, number: signal.Signals) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.compute.test_tasks import *;"
        "run([task(Path(sys.argv[1]), 'a', does='sleep')], Budget(1, GIB), Heard())"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(log)], stderr=subprocess.DEVNULL) as parent:
        worker = psutil.Process(_pid_of_first(log))
        os.kill(parent.pid, number)
        parent.wait(180)
        worker.wait(180)
    assert ("end a" in lines(log)) == (number == signal.SIGINT)  # asked to stop it unwinds, killed it cannot


def _pid_of_first(log: Path) -> int:
    deadline = time.monotonic() + 180
    while not log.read_text().endswith("\n"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(log.read_text().split()[3])
