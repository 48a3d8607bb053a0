"""Ends a training process together with its launcher, and lets it save first when it is asked to stop."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from megacpp_assets.contract.errors import TrainingFailed

EXIT_STOPPED: Final = 75
"""Exit code after a request to stop: a checkpoint was saved, and a rerun resumes from it (EX_TEMPFAIL)."""

GRACE_SECONDS: Final = 30
"""The time that a training process has after a request to stop, to finish its step and to save."""

_START_TIME_FIELD = 19


@dataclass(frozen=True, slots=True)
class Owner:
    """A process by number and start time (clock ticks since boot), so that a reused number is another process."""

    pid: int
    started: int

    @staticmethod
    def current() -> Owner:
        """Return this process."""
        return Owner(os.getpid(), _start_time(os.getpid()))

    def arguments(self) -> list[str]:
        """Return the process as command-line arguments."""
        return ["--owner", f"{self.pid}:{self.started}"]

    @staticmethod
    def parse(text: str) -> Owner:
        """Do the inverse of `arguments`."""
        pid, _, started = text.partition(":")
        return Owner(int(pid), int(started))


def die_with(owner: Owner) -> None:
    """Kill this process when `owner` ends for any reason. `TrainingFailed` if `owner` has already ended."""
    try:
        descriptor = os.pidfd_open(owner.pid)
        alive = _start_time(owner.pid) == owner.started
    except OSError:
        alive = False
    if not alive:
        raise _launcher_ended(f"process {owner.pid}")
    threading.Thread(target=_kill_after, args=(descriptor,), daemon=True).start()


def _launcher_ended(launcher: str) -> TrainingFailed:
    return TrainingFailed("launcher of the training process", expected=launcher, found="none", do="run it again")


def _kill_after(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()
    os.kill(os.getpid(), signal.SIGKILL)


def _start_time(pid: int) -> int:
    """Return field 22 of /proc/PID/stat. The process name in field 2 may contain spaces and brackets."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return int(stat.rpartition(")")[2].split()[_START_TIME_FIELD])


def leave(code: int) -> NoReturn:
    """End this process with `code`. A later request to stop does not change the code.

    Python removes its signal handlers before the process ends. Then a second SIGTERM would replace the exit code.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


class StopRequest:
    """Records whether SIGTERM (from an operator) or SIGINT (from Dagster) has arrived since `install`."""

    def __init__(self) -> None:
        self.asked = False
        self._then: Callable[[], None] | None = None

    def install(self, then: Callable[[], None] | None = None) -> None:
        """Handle both signals for the rest of the process. Each signal also calls `then`."""
        self._then = then
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.asked = True
        if self._then:
            self._then()
