"""A process pool on this machine, built on pebble. A worker that dies or hangs fails only its own batch."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import TimeoutError as FutureTimeout
from concurrent.futures.process import BrokenProcessPool
from itertools import count, islice
from multiprocessing.resource_tracker import ensure_running
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from megacpp_assets.compute.executors.executor import Outcome
from megacpp_assets.compute.executors.folders import SharedFolder
from megacpp_assets.compute.lifetime import die_with_parent, interrupts_blocked, signals_deferred

Batch = TypeVar("Batch")
Result = TypeVar("Result")

_AHEAD = 8
"""Batches per worker that are scheduled ahead, so that a slow batch does not keep other workers waiting."""
_POOLS_A_BATCH = 3


class _Pool(ProcessPool):
    """Pebble's pool, except that all workers end before their locks are removed.

    Pebble removes the locks first and then ends the workers one by one, by a signal that they may ignore. A worker that
    was just starting then found no lock and printed a traceback.
    """

    def _stop_pool(self) -> None:
        if self._pool_manager_loop is not None:
            self._pool_manager_loop.join()  # this thread starts workers
        workers = self._pool_manager.worker_manager
        for worker in tuple(workers.workers.values()):
            worker.kill()
        workers.force_stop_workers()  # type: ignore[no-untyped-call]
        super()._stop_pool()  # type: ignore[no-untyped-call]


class LocalPool:
    """A pool of `workers` processes. Each is replaced after `max_tasks` batches, which bounds its memory."""

    def __init__(self, workers: int, max_tasks: int = 50) -> None:
        self._workers = workers
        self._max_tasks = max_tasks
        self._pool = self._start()

    def _start(self) -> _Pool:
        ensure_running()  # starting its process unblocks signals, so it must start before they are blocked
        return _Pool(
            max_workers=self._workers,
            max_tasks=self._max_tasks,
            # Spawned, not forked: libclang and Arrow threads do not survive a fork.
            context=multiprocessing.get_context("spawn"),
            initializer=die_with_parent,
            initargs=[os.getpid()],
        )

    def run(
        self, function: Callable[[Batch], Result], batches: Iterable[Batch], *, timeout_s: float
    ) -> Iterator[Outcome[Result]]:
        """Yield one outcome per batch, in order; see `BatchExecutor.run`."""
        waiting: deque[tuple[Batch, Any]] = deque()
        more, broken = iter(batches), 0

        def scheduled(batch: Batch) -> tuple[Batch, Any]:
            # The first call starts the workers and the thread that replaces them. An interrupt in between would leave
            # a worker that pebble does not know, and `close` could not stop it.
            with signals_deferred(), interrupts_blocked():
                return batch, self._pool.schedule(function, args=[batch], timeout=timeout_s)

        try:
            for index in count():
                waiting.extend(map(scheduled, islice(more, self._workers * _AHEAD - len(waiting))))
                if not waiting:
                    return
                while self._is_broken(waiting[0][1]) and broken < _POOLS_A_BATCH:
                    broken += 1
                    self.close()
                    self._pool = self._start()
                    waiting = deque(scheduled(batch) for batch, _ in waiting)
                yield _outcome(index, waiting.popleft()[1], timeout_s)
                broken = 0
        finally:
            for _, future in waiting:
                future.cancel()

    def provide(self, *folders: SharedFolder) -> None:
        """Prepare `folders`, which the workers read in their places."""
        for folder in folders:
            folder.prepare(folder.path)

    @property
    def here(self) -> LocalPool:
        """This pool."""
        return self

    def close(self) -> None:
        """Stop the workers."""
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()

    @staticmethod
    def _is_broken(future: Any) -> bool:
        """Return whether the pool failed all batches, because a worker died before pebble knew which one it ran."""
        return isinstance(future.exception(), BrokenProcessPool)


def _outcome(index: int, future: Any, timeout_s: float) -> Outcome[Any]:
    try:
        return Outcome(index, future.result())
    except FutureTimeout:
        return Outcome(index, None, f"timeout: no answer in {timeout_s:g} s")
    except (ProcessExpired, BrokenProcessPool) as error:
        return Outcome(index, None, f"crash: worker ended with exit code {getattr(error, 'exitcode', 'unknown')}")
    except Exception as error:  # noqa: BLE001 - the boundary that records a failed batch
        return Outcome(index, None, f"error: {type(error).__name__}: {error}")
