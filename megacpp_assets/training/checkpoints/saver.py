"""Writes checkpoints in a thread while the next steps run: one at a time and in order."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType


class Saver:
    """Within its block `save` returns before the checkpoint is written. At the end of the block all are written.

    If a checkpoint cannot be written, the next call raises the error.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="saver")
        self._pending: Future[object] | None = None

    def __enter__(self) -> Saver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown()  # complete what was begun, whatever else failed
        if error is None:
            self.wait()

    def save(self, write: Callable[[], object]) -> None:
        """Call `write` in the thread after the previous one has ended."""
        self.wait()
        self._pending = self._thread.submit(write)

    def check(self) -> None:
        """Raise the error of the thread, if it had one."""
        if self._pending is not None and self._pending.done():
            self.wait()

    def wait(self) -> None:
        """Wait until nothing is being written."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()
