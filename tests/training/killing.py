"""The end of a process at a chosen point of what it writes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest


def killing(patch: pytest.MonkeyPatch, folder: str, point: int, here: Callable[[], bool] = lambda: True) -> None:
    """Kill the process, where `here` says so, at the `point`-th time that it makes something in `folder` durable.

    Each file is made durable twice: before it has its name, and with it.
    """
    flush, seen = os.fsync, []

    def dying(descriptor: int) -> None:
        flush(descriptor)
        if folder in os.readlink(f"/proc/self/fd/{descriptor}") and here():
            seen.append(descriptor)
            if len(seen) == point:
                os.kill(os.getpid(), signal.SIGKILL)

    patch.setattr(os, "fsync", dying)
