"""Batches of a thread share a process, until one of them ends it or changes what cannot be restored."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.compute.executors import isolated, kept
from megacpp_assets.compute.executors.answers import unpack
from tests.compute.batches import Work, narrow_and_move, square, surroundings

LONG_S = 60.0


@pytest.fixture(autouse=True)
def no_process_of_other_tests() -> Iterator[None]:
    """Each test begins and ends without a process."""
    _stop()
    yield
    _stop()


def _stop() -> None:
    if kept._of_thread.process is not None:
        kept._of_thread.process.stop()


def outcome(
    function: Callable[[Any], Any], batch: object, timeout_s: float = LONG_S, variables: Mapping[str, str] | None = None
) -> Any:
    return unpack(kept.run_kept(pickle.dumps((function, batch)), timeout_s, variables or {}, lambda: True))


def process_id(variables: Mapping[str, str] | None = None) -> int:
    """The id of the process that runs a batch."""
    value, failure = outcome(own_id, "", variables=variables)
    assert failure is None
    return int(value)


def own_id(_: str) -> int:
    return os.getpid()


def end(code: int) -> None:
    os._exit(code)


def test_batches_of_a_thread_run_in_one_process_and_those_of_another_in_another() -> None:
    others: list[int] = []
    thread = threading.Thread(target=lambda: others.extend([process_id(), process_id()]))
    thread.start()
    thread.join()
    assert process_id() == process_id() != others[0] == others[1]


@pytest.mark.parametrize(
    ("mishap", "failure"),
    [("crash", "crash: worker ended with exit code -11"), ("hang", "timeout: no answer in 2 s")],
)
def test_after_a_crash_or_a_timeout_the_next_batch_has_a_new_process(mishap: str, failure: str) -> None:
    before = process_id()
    assert outcome(square, Work((1,), mishap), 2.0) == (None, failure)
    assert process_id() != before


def test_a_batch_that_raises_costs_no_process() -> None:
    before = process_id()
    assert outcome(square, Work((1,), "raise")) == (None, "error: ValueError: planted")
    assert process_id() == before


def test_other_variables_get_a_new_process() -> None:
    first, second = process_id({"MEGACPP_TEST": "1"}), process_id({"MEGACPP_TEST": "2"})
    assert first != second == process_id({"MEGACPP_TEST": "2"})
    assert outcome(os.getenv, "MEGACPP_TEST", variables={"MEGACPP_TEST": "2"}) == ("2", None)


def test_a_process_ends_after_its_number_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "BATCHES", 2)
    first, second, third = process_id(), process_id(), process_id()
    assert first == second != third


def test_limits_and_directory_of_a_batch_do_not_reach_the_next(tmp_path: Path) -> None:
    before = outcome(surroundings, "")
    assert outcome(narrow_and_move, str(tmp_path)) == (None, None)
    assert outcome(surroundings, "") == before


def test_a_process_that_ended_without_a_task_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "_IDLE_S", 0.2)
    before = process_id()
    time.sleep(1)
    assert process_id() != before


def test_a_batch_that_ends_its_process_as_an_idle_one_ends_is_a_crash() -> None:
    process_id()
    assert outcome(end, isolated._IDLE_CODE) == (None, "crash: worker ended with exit code 75")


def test_a_batch_that_nobody_wants_ends_with_its_process() -> None:
    task = pickle.dumps((square, Work((1,), "hang")))
    value, failure = unpack(kept.run_kept(task, LONG_S, {}, lambda: False))
    assert (value, failure) == (None, "timeout: no answer in 60 s")
