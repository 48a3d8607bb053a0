"""Ending on a signal: in order, and within a time."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Collection
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


class Orphans:
    """Those that came here because their own parent ended. Nobody else waits for them: they would stay as zombies."""

    def __init__(self) -> None:
        self._found = 0

    def bury(self, others: Collection[int]) -> None:
        """Wait for those that ended before the call before this one, but for `others`, whom somebody waits for.

        Whoever ended since then may have a parent here that is just about to wait for it.
        """
        while (pid := _ended_child()) and pid not in others:
            if pid != self._found:
                self._found = pid
                return
            os.waitpid(pid, os.WNOHANG)


def _ended_child() -> int:
    """The process id of a child that ended and was not waited for; 0 if there is none."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    return found.si_pid if found else 0


def kill_all_below() -> None:
    """Kill every process below this one, also those that it adopted, until there is none."""
    while below := psutil.Process().children(recursive=True):
        for process in below:
            process.kill()
        psutil.wait_procs(below)
