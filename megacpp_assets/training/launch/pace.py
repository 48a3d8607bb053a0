"""How an attempt gets on, by the metrics that come of it: whether it lives, and at which rate it trains."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Rate:
    """Of `steps` steps, saving and validating included; `tokens` are those trained on in one step, their mean.

    `start_seconds` are those from asking for the attempt to its first step.
    """

    steps: int
    seconds_per_step: float
    tokens: float
    start_seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Trained on."""
        return self.tokens / self.seconds_per_step


@dataclass(frozen=True, slots=True)
class _Mark:
    """What a metrics file held when it was last written (seconds of its file system's clock)."""

    at: float
    lines: tuple[bytes, ...]


@dataclass
class Pace:
    """Of one attempt, from `begin` on. Any process may write the metrics, steps of earlier attempts first."""

    metrics: Path
    _begun: float = 0.0
    _sign: float = 0.0
    _size: int = 0
    _marks: list[_Mark] = field(default_factory=list)

    def begin(self) -> None:
        """An attempt is asked for; what the file holds already is not of it."""
        self._begun, self._sign, self._size = time.time(), time.monotonic(), self._bytes()
        self._marks = []

    def renew(self) -> None:
        """It said that it does something else than before."""
        self._sign = time.monotonic()

    def silence(self) -> float:
        """Seconds since the last sign of life."""
        size = self._bytes()
        if size != self._size:
            self._size, self._sign = size, time.monotonic()
            self._look()
        return time.monotonic() - self._sign

    def rate(self) -> Rate | None:
        """None where fewer than two looks saw steps."""
        self.silence()
        if len(self._marks) < 2 or self._marks[0].at >= self._marks[1].at:
            return None
        first, last = self._marks
        new = [json.loads(line)["tokens"] for line in last.lines[len(first.lines) :]]
        if not new:
            return None
        seconds = (last.at - first.at) / len(new)
        return Rate(len(new), seconds, sum(new) / len(new), max(0.0, first.at - self._begun))

    def _look(self) -> None:
        at, data = self.metrics.stat().st_mtime, self.metrics.read_bytes()
        lines = tuple(data[: data.rfind(b"\n") + 1].splitlines())
        if lines:
            self._marks = [*self._marks[:1], _Mark(at, lines)]

    def _bytes(self) -> int:
        return self.metrics.stat().st_size if self.metrics.is_file() else 0
