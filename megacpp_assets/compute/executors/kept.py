"""Runs the batches of a thread in one process after another, because an interpreter needs 0.2 CPU seconds to start."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final

from megacpp_assets.compute.executors.isolated import IsolatedProcess, ProcessEnded

BATCHES: Final = 50
"""Batches of one process, which bounds its memory."""


class _OfThread(threading.local):
    process: IsolatedProcess | None = None


_of_thread = _OfThread()


def run_kept(task: bytes, timeout_s: float, variables: Mapping[str, str], is_wanted: Callable[[], bool]) -> bytes:
    """Run the pickled (function, batch) of `task` in the process of this thread; return the packed (value, failure).

    The thread gets a new process for other `variables` of its environment, after `BATCHES` batches, and after a batch
    that failed by a crash or a timeout, or that is no longer wanted. See `IsolatedProcess.run`.
    """
    while True:
        process = _process_with(variables)
        try:
            return process.run(task, timeout_s, is_wanted)
        except ProcessEnded:
            continue
        finally:
            if not process.can_run or process.batches >= BATCHES:
                process.stop()


def _process_with(variables: Mapping[str, str]) -> IsolatedProcess:
    kept = _of_thread.process
    if kept is not None and kept.can_run and kept.variables == variables:
        return kept
    if kept is not None:
        kept.stop()
    _of_thread.process = started = IsolatedProcess(variables)
    return started
