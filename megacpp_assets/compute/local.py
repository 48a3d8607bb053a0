"""Crash-isolated process pool on this machine (pebble): a worker that dies or hangs fails its own batch only."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import TimeoutError as FutureTimeout
from itertools import count, islice
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from megacpp_assets.compute.executor import Outcome
from megacpp_assets.compute.lifetime import die_with_parent

Batch = TypeVar("Batch")
Result = TypeVar("Result")

_AHEAD = 8
"""Batches per worker that are taken before their turn: one that takes long keeps none of the others waiting."""


class LocalPool:
    """`workers` spawned processes, each replaced after `max_tasks` batches so that memory cannot creep."""

    def __init__(self, workers: int, max_tasks: int = 50) -> None:
        self._ahead = workers * _AHEAD
        self._pool = ProcessPool(
            max_workers=workers,
            max_tasks=max_tasks,
            # Spawned, not forked: libclang and Arrow threads do not survive a fork.
            context=multiprocessing.get_context("spawn"),
            initializer=die_with_parent,
            initargs=[os.getpid()],
        )

    def run(
        self, function: Callable[[Batch], Result], batches: Iterable[Batch], *, timeout_s: float
    ) -> Iterator[Outcome[Result]]:
        """Yield one outcome per batch, in order; see `BatchExecutor.run`."""
        waiting: deque[Any] = deque()
        more = iter(batches)
        try:
            for index in count():
                for batch in islice(more, self._ahead - len(waiting)):
                    waiting.append(self._pool.schedule(function, args=[batch], timeout=timeout_s))
                if not waiting:
                    return
                yield _outcome(index, waiting.popleft(), timeout_s)
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """Stop the workers."""
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()


def _outcome(index: int, future: Any, timeout_s: float) -> Outcome[Any]:
    try:
        return Outcome(index, future.result())
    except FutureTimeout:
        return Outcome(index, None, f"timeout: no answer in {timeout_s:g} s")
    except ProcessExpired as error:
        return Outcome(index, None, f"crash: worker ended with exit code {error.exitcode}")
    except Exception as error:  # noqa: BLE001 - the boundary that records a failed batch
        return Outcome(index, None, f"error: {type(error).__name__}: {error}")
