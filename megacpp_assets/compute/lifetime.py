"""How long a child process lives: never longer than the process that started it."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int | None = None, number: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to send this process `number` when its parent ends, even by SIGKILL.

    Leaves at once if the process `parent`, which started this one, ended before it could ask.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if parent not in (None, os.getppid()):
        os._exit(1)
