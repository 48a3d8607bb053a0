"""Ends the UI on a signal, in order and in limited time."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from types import FrameType
from typing import Final

import psutil

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_PR_SET_CHILD_SUBREAPER = 36


class Deadline:
    """A point in time by which everything must have ended."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds from now, never negative."""
        return max(0.0, self._end - time.monotonic())

    def come(self) -> None:
        """Set the deadline to now."""
        self._end = time.monotonic()


def interrupt_on_signals() -> None:
    """Make SIGTERM and SIGINT raise `KeyboardInterrupt` in the main thread from now on."""
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)


def hurry_on_signals(deadline: Deadline) -> None:
    """Make SIGTERM and SIGINT set `deadline` to now: the end is under way, and nothing may interrupt it."""

    def hurry(number: int, frame: FrameType | None) -> None:
        del number, frame
        deadline.come()

    for number in SIGNALS:
        signal.signal(number, hurry)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none is lost."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


class Orphans:
    """Processes that were adopted because their parent ended. If nobody waits for them, they stay as zombies."""

    def __init__(self) -> None:
        self._found = 0

    def reap(self, others: Collection[int]) -> None:
        """Wait for those that had ended at the previous call, except `others`, for which somebody else waits.

        A process that ended since then may have a parent here that is about to wait for it.
        """
        while (pid := _ended_child()) and pid not in others:
            if pid != self._found:
                self._found = pid
                return
            os.waitpid(pid, os.WNOHANG)


def _ended_child() -> int:
    """Return the id of a child that has ended and was not waited for; 0 if none has."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    return found.si_pid if found else 0


def kill_all_below() -> None:
    """Kill every descendant, also adopted ones, until none is left."""
    while below := psutil.Process().children(recursive=True):
        for process in below:
            with suppress(psutil.NoSuchProcess):  # its parent waited for it first
                process.kill()
        psutil.wait_procs(below)
