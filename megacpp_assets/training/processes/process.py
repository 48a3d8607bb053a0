"""A training process's ties to the outside: it dies with its launcher, and a request to stop lets it save first."""

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
"""Exit code after a request to stop: a checkpoint was saved, a rerun goes on from it (EX_TEMPFAIL)."""

GRACE_SECONDS: Final = 30
"""How long a training process that is asked to stop may take over the step it is in and over saving."""

_START_TIME_FIELD = 19


@dataclass(frozen=True, slots=True)
class Owner:
    """A process by number and start time (clock ticks since boot), so that a reused number is another process."""

    pid: int
    started: int

    @staticmethod
    def current() -> Owner:
        """This process."""
        return Owner(os.getpid(), _start_time(os.getpid()))

    def arguments(self) -> list[str]:
        """On a command line."""
        return ["--owner", f"{self.pid}:{self.started}"]

    @staticmethod
    def parse(text: str) -> Owner:
        """Inverse of `arguments`."""
        pid, _, started = text.partition(":")
        return Owner(int(pid), int(started))


def die_with(owner: Owner) -> None:
    """Kill this process when `owner` ends, however that happens. `TrainingFailed` if it is gone already."""
    try:
        descriptor = os.pidfd_open(owner.pid)
        alive = _start_time(owner.pid) == owner.started
    except OSError:
        alive = False
    if not alive:
        raise _without(f"process {owner.pid}")
    threading.Thread(target=_kill_after, args=(descriptor,), daemon=True).start()


def _without(launcher: str) -> TrainingFailed:
    return TrainingFailed("launcher of the training process", expected=launcher, found="none", do="run it again")


def _kill_after(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()
    os.kill(os.getpid(), signal.SIGKILL)


def _start_time(pid: int) -> int:
    """Field 22 of /proc/PID/stat; the name before it may hold spaces and brackets."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return int(stat.rpartition(")")[2].split()[_START_TIME_FIELD])


def leave(code: int) -> NoReturn:
    """End this process with `code`. A request to stop that comes now does not change it.

    While Python ends, its handlers are gone before the process is: a second SIGTERM would kill what has saved.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


class StopRequest:
    """Whether SIGTERM or SIGINT has arrived since `install`: the one from an operator, the other from Dagster."""

    def __init__(self) -> None:
        self.asked = False
        self._then: Callable[[], None] | None = None

    def install(self, then: Callable[[], None] | None = None) -> None:
        """Take over both signals for the rest of the process; each also calls `then`."""
        self._then = then
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.asked = True
        if self._then:
            self._then()
