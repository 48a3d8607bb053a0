"""A training process's ties to the outside: it dies with its launcher, and a request to stop lets it save first."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import TrainingFailed

EXIT_STOPPED: Final = 75
"""Exit code after SIGTERM: a checkpoint was saved, a rerun goes on from it (EX_TEMPFAIL)."""

_PR_SET_PDEATHSIG = 1
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


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends: torchrun starts workers in a session of their own,
    out of reach of a signal to the launcher's process group.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def die_with(owner: Owner) -> None:
    """Kill this process when `owner` ends, however that happens. `TrainingFailed` if it is gone already."""
    try:
        descriptor = os.pidfd_open(owner.pid)
        alive = _start_time(owner.pid) == owner.started
    except OSError:
        alive = False
    if not alive:
        raise TrainingFailed("launcher of the training process", expected=f"process {owner.pid}", found="none")
    threading.Thread(target=_kill_after, args=(descriptor,), daemon=True).start()


def _kill_after(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()
    os.kill(os.getpid(), signal.SIGKILL)


def _start_time(pid: int) -> int:
    """Field 22 of /proc/PID/stat; the name before it may hold spaces and brackets."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return int(stat.rpartition(")")[2].split()[_START_TIME_FIELD])


class StopRequest:
    """Whether SIGTERM has arrived since `install`."""

    def __init__(self) -> None:
        self.asked = False

    def install(self) -> None:
        """Take over SIGTERM for the rest of the process."""
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "asked", True))


def exit_stopped() -> None:
    """End the process with the code that says "saved, not finished"."""
    sys.exit(EXIT_STOPPED)
