"""Follows a training process from outside, by its metrics file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from megacpp_assets.contract.step import Progress

_POLL_SECONDS = 0.2


@contextmanager
def watching(metrics: Path, total: int, progress: Progress) -> Iterator[None]:
    """Report the number of lines of `metrics` to `progress` from a thread while the block runs."""
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(metrics, total, progress, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _follow(metrics: Path, total: int, progress: Progress, stop: threading.Event) -> None:
    reported = -1
    while not stop.wait(_POLL_SECONDS):
        done = metrics.read_bytes().count(b"\n") if metrics.is_file() else 0
        if done != reported:
            progress(done, total)
            reported = done
