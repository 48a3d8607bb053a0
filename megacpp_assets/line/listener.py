"""Who hears the progress of the step that runs now: the command line's bars, or nobody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from megacpp_assets.contract.progress import Progress, silent

_LISTENER: ContextVar[Progress] = ContextVar("megacpp_progress", default=silent)


def current_listener() -> Progress:
    """The progress function of the innermost `listening` block."""
    return _LISTENER.get()


@contextmanager
def listening(progress: Progress) -> Iterator[None]:
    """Steps executed inside this block report to `progress`."""
    token = _LISTENER.set(progress)
    try:
        yield
    finally:
        _LISTENER.reset(token)
