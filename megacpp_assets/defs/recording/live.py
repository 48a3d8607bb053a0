"""Records a training in Dagster while it runs: its newest metrics, and each attempt that has ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import dagster as dg
from dagster import DagsterEventType

from megacpp_assets.defs.dagster_private import AssetObservationData
from megacpp_assets.defs.keys import key_of
from megacpp_assets.defs.recording.events import Event
from megacpp_assets.launch.client import records
from megacpp_assets.launch.client.records import AttemptRecord
from megacpp_assets.pipeline.stages import CHECKPOINT
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.trained import stage
from megacpp_assets.training.checkpoints.record import StepMetrics, parse_metrics
from megacpp_assets.training.job import LIVE_METRICS_FILE

_PAUSE_SECONDS: Final = 10.0


@dataclass
class Live:
    """Records observations of the trainings of one run: at most one in `pause` seconds, and one for each ended
    attempt.
    """

    pause: float = _PAUSE_SECONDS
    _since: float = field(default_factory=time.time)
    _reported: dict[str, float] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)

    def progressed(self, step: Step) -> Iterator[Event]:
        """Record the present state of a step that made progress."""
        if step.stage.name != CHECKPOINT or time.monotonic() < self._reported.get(step.name, 0.0) + self.pause:
            return
        yield from self.ended(step)
        file = stage.scratch_folder(stage.spec(step.corpus, step.partition)) / LIVE_METRICS_FILE
        try:
            data = file.read_bytes()
        except FileNotFoundError:  # the training has not begun, or has just ended
            return
        if metrics := parse_metrics(data[: data.rfind(b"\n") + 1], str(file)):
            self._reported[step.name] = time.monotonic()
            yield _observation(
                step, f"step {metrics[-1].step} of {step.corpus.recipe.training.steps}", _of(metrics[-1])
            )

    def ended(self, step: Step) -> Iterator[Event]:
        """Record each attempt that has ended since the run began, once."""
        if step.stage.name != CHECKPOINT:
            return
        for record in records.ended_since(step.corpus.root, self._since):
            if record.partition == step.partition and record.name not in self._ended:
                self._ended.add(record.name)
                yield _observation(step, f"attempt {record.attempt}: {record.ended}", _of_attempt(record))


def _of(metrics: StepMetrics) -> dict[str, dg.MetadataValue]:  # type: ignore[type-arg]
    return {
        "step": dg.MetadataValue.int(metrics.step),
        "loss (nats)": dg.MetadataValue.float(metrics.loss),
        "tokens of the step": dg.MetadataValue.int(metrics.tokens),
    }


def _of_attempt(record: AttemptRecord) -> dict[str, dg.MetadataValue]:  # type: ignore[type-arg]
    """Return names and figures only: settings of a launcher stay in the data root."""
    metadata: dict[str, dg.MetadataValue] = {  # type: ignore[type-arg]
        "run": dg.MetadataValue.text(record.name),
        "launcher": dg.MetadataValue.text(record.launch.launcher),
    }
    if record.rate:
        metadata["tokens a second"] = dg.MetadataValue.float(record.rate.tokens_per_second)
    return metadata


def _observation(step: Step, words: str, metadata: dict[str, dg.MetadataValue]) -> Event:  # type: ignore[type-arg]
    key, partition = key_of(step.corpus.dataset, step.stage.name, step.partition)
    seen = dg.AssetObservation(key, partition=partition, description=words, metadata=metadata)
    return DagsterEventType.ASSET_OBSERVATION, AssetObservationData(seen)
