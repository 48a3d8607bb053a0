"""Forecasts: what each stage of a corpus would take, from sizes and rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from megacpp_assets.estimate.fit import Features, apply
from megacpp_assets.estimate.memory import peak_of
from megacpp_assets.estimate.rates import Rate, Rates
from megacpp_assets.estimate.sizes import Size
from megacpp_assets.pipeline.stages import STAGES, TOKENIZER, Kind

_TOKENS_OF: Final = "v6_enriched"
"""The stage whose tokens mixtures are made of."""


@dataclass(frozen=True, slots=True)
class StageForecast:
    """A stage: its partitions as (CPU seconds of its own process, of its workers), bytes to store, the largest peak of
    memory, and the rate that this follows from."""

    stage: str
    partitions: tuple[tuple[float, float], ...]
    stored_bytes: float
    peak_bytes: float
    rate: Rate

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of all partitions."""
        return sum(serial + parallel for serial, parallel in self.partitions)

    @property
    def serial_seconds(self) -> float:
        """CPU seconds that no worker can take over, of all partitions."""
        return sum(serial for serial, _ in self.partitions)

    def elapsed_seconds(self, cores: int, machines: int = 1) -> float:
        """Return the least time on `machines` of `cores` each (Amdahl): all cores busy, or the longest partition alone.

        One partition runs on one machine. Its serial part runs on one core.
        """
        longest = max((serial + parallel / cores for serial, parallel in self.partitions), default=0.0)
        return max(self.cpu_seconds / (cores * machines), longest)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Every stage with a rate, the tokens of all repositories, and the stages that have no rate."""

    stages: tuple[StageForecast, ...]
    tokens: float
    unknown: tuple[str, ...]


def forecast(sizes: Sequence[Size], mixtures: int, rates: Rates, stages: Iterable[str]) -> Forecast:
    """Forecast `stages` for repositories of these sizes and so many mixtures, each of all repositories."""
    names = list(stages)
    tokens = _tokens(sizes, rates)
    features: dict[Kind, list[Features]] = {
        Kind.REPOSITORY: [size.features for size in sizes],
        Kind.DATASET: [(1.0, sum(size.source_bytes for size in sizes) / 1e6)],
        Kind.MIXTURE: [(1.0, tokens / 1e6)] * mixtures,
    }
    made = [_stage(name, features[STAGES[name].kind], rate) for name in names if (rate := rates.rate(name))]
    return Forecast(tuple(made), tokens, tuple(name for name in names if rates.rate(name) is None))


def _tokens(sizes: Sequence[Size], rates: Rates) -> float:
    rate = rates.rate(_TOKENS_OF)
    return sum(apply(rate.tokens, size.features) for size in sizes) if rate else 0.0


def _stage(name: str, partitions: Sequence[Features], rate: Rate) -> StageForecast:
    return StageForecast(
        name,
        tuple(_parts(features, rate, apart=name != TOKENIZER) for features in partitions),
        sum(apply(rate.stored_bytes, features) for features in partitions),
        max((peak_of(name, rate.peak_bytes, rate.largest_peak, each) for each in partitions), default=0.0),
        rate,
    )


def _parts(features: Features, rate: Rate, *, apart: bool) -> tuple[float, float]:
    """CPU seconds of a partition: of its own process, and of its workers. Where they are threads, none are `apart`."""
    whole = apply(rate.cpu_seconds, features)
    serial = min(apply(rate.serial_seconds, features), whole) if apart else 0.0
    return serial, whole - serial
