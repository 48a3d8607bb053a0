"""Ending on a signal: in order, and within a time."""

from __future__ import annotations

import ctypes
import signal
import time
from types import FrameType
from typing import Final

import psutil

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_PR_SET_CHILD_SUBREAPER = 36


class Deadline:
    """A point in time, by which all must have ended."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds from now, never negative."""
        return max(0.0, self._end - time.monotonic())

    def come(self) -> None:
        """Let it be now."""
        self._end = time.monotonic()


def interrupt_on_signals() -> None:
    """From now on SIGTERM and SIGINT raise `KeyboardInterrupt` in the main thread."""
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)


def hurry_on_signals(deadline: Deadline) -> None:
    """From now on SIGTERM and SIGINT make `deadline` come: the end is under way, nothing is to interrupt it."""

    def hurry(number: int, frame: FrameType | None) -> None:
        del number, frame
        deadline.come()

    for number in SIGNALS:
        signal.signal(number, hurry)


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent ends, so that none is lost sight of."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kill_all_below() -> None:
    """Kill every process below this one, also those that it adopted, until there is none."""
    while below := psutil.Process().children(recursive=True):
        for process in below:
            process.kill()
        psutil.wait_procs(below)
