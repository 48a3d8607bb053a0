"""Measures an attempt by its metrics file: whether it sends heartbeats, and at which rate it trains."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StepRate:
    """The rate over `steps` steps, with saving and validation included.

    `tokens` is the mean number of trained tokens per step. `start_seconds` is the time from the launch to the first
    step.
    """

    steps: int
    seconds_per_step: float
    tokens: float
    start_seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Trained tokens per second."""
        return self.tokens / self.seconds_per_step


@dataclass(frozen=True, slots=True)
class _Mark:
    """The lines of a metrics file, and the time of its last write (seconds of the file system's clock)."""

    at: float
    lines: tuple[bytes, ...]


@dataclass
class AttemptProgress:
    """Measures one attempt from `begin` on. The metrics file may begin with the steps of earlier attempts."""

    metrics: Path
    _begun: float = 0.0
    _heartbeat: float = 0.0
    _size: int = 0
    _marks: list[_Mark] = field(default_factory=list)

    def begin(self) -> None:
        """Start a new attempt: lines that the file holds now belong to earlier attempts."""
        self._begun, self._heartbeat, self._size = time.time(), time.monotonic(), self._bytes()
        self._marks = []

    def renew(self) -> None:
        """Note a heartbeat that is not in the metrics file."""
        self._heartbeat = time.monotonic()

    def silence(self) -> float:
        """Return the seconds since the last heartbeat."""
        size = self._bytes()
        if size != self._size:
            self._size, self._heartbeat = size, time.monotonic()
            self._look()
        return time.monotonic() - self._heartbeat

    def rate(self) -> StepRate | None:
        """Return the measured rate, or None if fewer than two looks saw steps."""
        self.silence()
        if len(self._marks) < 2 or self._marks[0].at >= self._marks[1].at:
            return None
        first, last = self._marks
        new = [json.loads(line)["tokens"] for line in last.lines[len(first.lines) :]]
        if not new:
            return None
        seconds = (last.at - first.at) / len(new)
        return StepRate(len(new), seconds, sum(new) / len(new), max(0.0, first.at - self._begun))

    def _look(self) -> None:
        at, data = self.metrics.stat().st_mtime, self.metrics.read_bytes()
        lines = tuple(data[: data.rfind(b"\n") + 1].splitlines())
        if lines:
            self._marks = [*self._marks[:1], _Mark(at, lines)]

    def _bytes(self) -> int:
        return self.metrics.stat().st_size if self.metrics.is_file() else 0
