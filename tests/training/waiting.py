"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")


def wait_for(condition: Callable[[], _T], seconds: float = 600, pause: float = 0.02) -> _T:
    """Poll until true; ten minutes is the end of patience, unless it is less. A long pause is for costly questions."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(pause)  # a waiting test takes no core from what it waits for
    raise AssertionError(f"it did not happen within {seconds} s")


def alive(pid: int) -> bool:
    """Whether a process of that number runs; one that nobody has waited for does not."""
    try:
        return not Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].startswith(" Z")
    except OSError:
        return False
