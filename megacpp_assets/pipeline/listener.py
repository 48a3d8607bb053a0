"""Who hears how the line goes: the command line's bars, or nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.steps import Step

StepStarts = Callable[[str, str], Progress]
"""(stage, partition) of the step that starts -> who hears its progress."""


class Watch(Protocol):
    """Hears of every step of a plan, in order."""

    def already_done(self, step: Step, done: Done) -> None:
        """The step was current: nothing ran."""

    def step_starts(self, stage: str, partition: str) -> Progress:
        """A step starts; the returned function hears its progress."""

    def step_ended(self, step: Step, done: Done) -> None:
        """A step ran and passed its checks."""


def _nobody(_stage: str, _partition: str) -> Progress:
    return silent


_LISTENER: ContextVar[StepStarts] = ContextVar("megacpp_listener", default=_nobody)


def current_listener() -> StepStarts:
    """The listener of the innermost `listening` block."""
    return _LISTENER.get()


@contextmanager
def listening(starts: StepStarts) -> Iterator[None]:
    """Steps executed inside this block report to `starts`."""
    token = _LISTENER.set(starts)
    try:
        yield
    finally:
        _LISTENER.reset(token)
