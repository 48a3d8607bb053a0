"""Checkpoints that are written beside the steps that follow them: one at a time, in order, by a thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType


class Saver:
    """Within its block `save` returns while the checkpoint is still being written; at the end of the block all are.

    A checkpoint that cannot be written ends the run: the next call raises what its writing raised.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="saver")
        self._pending: Future[object] | None = None

    def __enter__(self) -> Saver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown()  # what was begun is written to its end, whatever else went wrong
        if error is None:
            self.wait()

    def save(self, write: Callable[[], object]) -> None:
        """Have `write` called once the one before has ended."""
        self.wait()
        self._pending = self._thread.submit(write)

    def check(self) -> None:
        """Raise if what was begun has failed."""
        if self._pending is not None and self._pending.done():
            self.wait()

    def wait(self) -> None:
        """Return when nothing is being written any more."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()
