"""Lines about running steps for an output that is a file, where bars are not drawn."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from megacpp_assets.pipeline.stages import CHECKPOINT
from megacpp_assets.pipeline.steps import Step

if TYPE_CHECKING:
    from megacpp_assets.training.checkpoints.record import StepMetrics

PAUSE_SECONDS: Final = 30.0


@dataclass(slots=True)
class _Seen:
    """When the last line about a step was due, and the first metrics of its training, with their time."""

    said_at: float
    metrics_at: float = 0.0
    metrics: int = 0


@dataclass(slots=True)
class ProgressLines:
    """Makes at most one line in `pause` seconds about each running step. `clock` counts seconds."""

    pause: float = PAUSE_SECONDS
    clock: Callable[[], float] = time.monotonic
    _seen: dict[str, _Seen] = field(default_factory=dict)

    def begin(self, step: Step) -> None:
        """Note the start of a step: a step that is shorter than the pause has no line."""
        self._seen[step.name] = _Seen(self.clock())

    def line(self, step: Step, done: int, total: int) -> str:
        """Return the line about a step that completed `done` of `total` units, or "" if the last one is too new."""
        now, seen = self.clock(), self._seen.setdefault(step.name, _Seen(self.clock()))
        is_training = step.stage.name == CHECKPOINT
        if is_training and not seen.metrics and (metrics := _live_metrics(step)):
            # A resumed training starts with the steps that were made before: its rate counts later ones only.
            seen.metrics_at, seen.metrics = now, len(metrics)
        if now < seen.said_at + self.pause:
            return ""
        seen.said_at = now
        words = _of_training(_live_metrics(step), seen, now, total) if is_training else ""
        return f"{step.stage.name:<20} {step.partition:<28} {words or f'{done:,} of {total:,}'}"


def _of_training(metrics: list[StepMetrics], seen: _Seen, now: float, total: int) -> str:
    """Return step, loss, rate and remaining time. The rate has everything since the first step: saves, validation."""
    if not metrics:
        return ""
    words, new = f"step {metrics[-1].step:,} of {total:,}, loss {metrics[-1].loss:.3f}", metrics[seen.metrics :]
    if not new:
        return words
    seconds = now - seen.metrics_at
    left = timedelta(seconds=round((total - metrics[-1].step) * seconds / len(new)))
    return f"{words}, {sum(each.tokens for each in new) / seconds:,.0f} tokens/s, {left} left"


def _live_metrics(step: Step) -> list[StepMetrics]:
    """Return the steps of a running training, as its job reports them; empty before the first one."""
    from megacpp_assets.trained import stage
    from megacpp_assets.training.checkpoints.record import parse_metrics
    from megacpp_assets.training.job import LIVE_METRICS_FILE

    file = stage.scratch_folder(stage.spec(step.corpus, step.partition)) / LIVE_METRICS_FILE
    try:
        data = file.read_bytes()
    except FileNotFoundError:  # the training has not begun, or has just ended
        return []
    return parse_metrics(data[: data.rfind(b"\n") + 1], str(file))
