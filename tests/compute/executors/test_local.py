"""Tests of the local pool: order is kept, and a batch that crashes, hangs or raises fails alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from megacpp_assets.compute.executors.executor import Outcome
from megacpp_assets.compute.executors.local import LocalPool


def behave(batch: str) -> str:
    """What the batch says: crash, hang, raise, exit, or answer."""
    if batch == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if batch == "hang":
        threading.Event().wait()
    if batch == "raise":
        raise ValueError("bad token")
    if batch == "exit":
        os._exit(3)
    return batch.upper()


def ignore_requests_to_end(_batch: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def process_of(_batch: int) -> int:
    return os.getpid()


def is_deaf(_batch: str) -> bool:
    """Whether the process was started with SIGINT blocked: nothing that it runs unblocks it, or could do so earlier."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalPool]:
    pool = LocalPool(workers=2)
    yield pool
    pool.close()


def test_outcomes_come_in_the_order_of_the_batches(pool: LocalPool) -> None:
    words = [f"word{index}" for index in range(20)]
    outcomes = list(pool.run(behave, words, timeout_s=60))
    assert outcomes == [Outcome(index, word.upper()) for index, word in enumerate(words)]


def test_a_batch_that_crashes_or_hangs_or_raises_fails_alone_with_its_reason(pool: LocalPool) -> None:
    batches = ["a", "crash", "b", "hang", "c", "raise", "d", "exit", "e"]
    outcomes = list(pool.run(behave, batches, timeout_s=1.5))
    assert [outcome.value for outcome in outcomes] == ["A", None, "B", None, "C", None, "D", None, "E"]
    reasons = {batches[outcome.index]: outcome.failure or "" for outcome in outcomes if outcome.value is None}
    assert reasons["crash"].startswith("crash: ") and reasons["exit"] == "crash: worker ended with exit code 3"
    assert reasons["hang"] == "timeout: no answer in 1.5 s"
    assert reasons["raise"] == "error: ValueError: bad token"


def test_the_pool_still_works_after_its_workers_died(pool: LocalPool) -> None:
    list(pool.run(behave, ["crash"] * 3, timeout_s=60))
    assert [outcome.value for outcome in pool.run(behave, ["x", "y"], timeout_s=60)] == ["X", "Y"]


def test_work_is_done_in_other_processes(pool: LocalPool) -> None:
    assert os.getpid() not in {outcome.value for outcome in pool.run(process_of, [0, 1, 2], timeout_s=60)}


def test_no_batches_give_no_outcomes(pool: LocalPool) -> None:
    assert list(pool.run(behave, [], timeout_s=1)) == []


def test_a_worker_that_dies_between_two_batches_takes_no_batch_with_it() -> None:
    pool = LocalPool(workers=1)
    (first,) = pool.run(process_of, [0], timeout_s=60)
    assert first.value is not None
    os.kill(first.value, signal.SIGKILL)
    assert [outcome.value for outcome in pool.run(behave, ["x", "y"], timeout_s=60)] == ["X", "Y"]
    pool.close()


def test_ctrl_c_reaches_neither_workers_nor_their_replacements(pool: LocalPool) -> None:
    outcomes = [*pool.run(behave, ["crash", "crash"], timeout_s=60), *pool.run(is_deaf, ["a"] * 4, timeout_s=60)]
    assert [outcome.value for outcome in outcomes] == [None, None, True, True, True, True]
    assert not is_deaf("this process")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_that_is_ended_while_its_workers_start_ends_them_all(number: signal.Signals) -> None:
    program = [sys.executable, "-m", "tests.compute.ended_at_start", number.name]
    done = subprocess.run(program, check=False, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "0\n", "")


def test_a_worker_that_still_starts_when_the_pool_is_closed_ends_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    slow_but_for_one = f"""
import os, time
try:
    os.mkdir({str(tmp_path / "one")!r})
except FileExistsError:
    time.sleep(1)
"""
    (tmp_path / "sitecustomize.py").write_text(slow_but_for_one)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with closing(LocalPool(workers=2)) as pool:
        list(pool.run(ignore_requests_to_end, range(1), timeout_s=60))
    assert capfd.readouterr() == ("", "")
