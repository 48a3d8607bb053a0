"""Crash-isolated process pool on this machine (pebble): a worker that dies or hangs fails its own batch only."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TypeVar

from pebble import ProcessExpired, ProcessPool

from megacpp_assets.compute.executor import Outcome

Batch = TypeVar("Batch")
Result = TypeVar("Result")


class LocalPool:
    """`workers` spawned processes, each replaced after `max_tasks` batches so that memory cannot creep."""

    def __init__(self, workers: int, max_tasks: int = 50) -> None:
        # Spawned, not forked: libclang and Arrow threads do not survive a fork.
        self._pool = ProcessPool(max_workers=workers, max_tasks=max_tasks, context=multiprocessing.get_context("spawn"))

    def run(
        self, function: Callable[[Batch], Result], batches: Sequence[Batch], *, timeout_s: float
    ) -> Iterator[Outcome[Result]]:
        """Yield one outcome per batch, in order; see `BatchExecutor.run`."""
        futures = [self._pool.schedule(function, args=[batch], timeout=timeout_s) for batch in batches]
        for index, future in enumerate(futures):
            try:
                yield Outcome(index, future.result())
            except FutureTimeout:
                yield Outcome(index, None, f"timeout: no answer in {timeout_s:g} s")
            except ProcessExpired as error:
                yield Outcome(index, None, f"crash: worker ended with exit code {error.exitcode}")
            except Exception as error:  # noqa: BLE001 - the boundary that records a failed batch
                yield Outcome(index, None, f"error: {type(error).__name__}: {error}")

    def close(self) -> None:
        """Stop the workers."""
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()
