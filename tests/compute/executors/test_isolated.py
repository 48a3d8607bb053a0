"""A batch in a process of its own: it may crash, hang, print, move and limit itself without a trace."""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.compute.executors.answers import unpack
from megacpp_assets.compute.executors.isolated import run_isolated
from tests.compute.batches import Work, narrow_and_move, square, surroundings, unpicklable
from tests.compute.dask_cluster import CHECKOUT

LONG_S = 60.0


def outcome(function: Callable[[Any], Any], batch: object, timeout_s: float = LONG_S) -> Any:
    return unpack(run_isolated(pickle.dumps((function, batch)), timeout_s))


def test_a_batch_gives_its_value() -> None:
    value, failure = outcome(square, Work((1, 2, 3)))
    assert value.tolist() == [1, 4, 9]
    assert failure is None


def test_none_is_a_value() -> None:
    assert outcome(narrow_and_move, "/") == (None, None)


def test_a_segmentation_fault_is_a_crash_with_its_exit_code() -> None:
    assert outcome(square, Work((1,), "crash")) == (None, "crash: worker ended with exit code -11")


def test_a_batch_that_hangs_is_ended_at_its_time() -> None:
    assert outcome(square, Work((1,), "hang"), 2.0) == (None, "timeout: no answer in 2 s")


def test_an_exception_is_an_error_with_its_words() -> None:
    assert outcome(square, Work((1,), "raise")) == (None, "error: ValueError: planted")


def test_a_value_that_cannot_travel_is_an_error() -> None:
    value, failure = outcome(unpicklable, "")
    assert value is None
    assert failure.startswith("error: ")


def test_output_of_a_batch_does_not_mix_with_its_answer(capfd: pytest.CaptureFixture[str]) -> None:
    value, _ = outcome(square, Work((5,), "print"))
    assert value.tolist() == [25]
    assert "xxx" in capfd.readouterr().err


def test_directory_and_limits_of_a_batch_do_not_reach_the_next(tmp_path: Path) -> None:
    outcome(narrow_and_move, str(tmp_path))
    value, _ = outcome(surroundings, "")
    assert value == (os.getcwd(), resource.getrlimit(resource.RLIMIT_NOFILE))


def test_a_batch_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    program = (
        "import pickle; from megacpp_assets.compute.executors.isolated import run_isolated\n"
        "from tests.compute.executors.test_isolated import hold_open\n"
        f"run_isolated(pickle.dumps((hold_open, {str(fifo)!r})), 600)"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=CHECKOUT) as parent:
        with fifo.open("rb", buffering=0) as alive:
            assert alive.read(5) == b"alive"
            parent.kill()
            # The batch holds the only writing end: the end of the file is the end of the batch.
            assert select.select([alive], [], [], LONG_S)[0]
            assert alive.read() == b""


def hold_open(fifo: str) -> None:
    """Say that this process lives, and go on living."""
    with open(fifo, "wb", buffering=0) as stream:
        stream.write(b"alive")
        signal.pause()
