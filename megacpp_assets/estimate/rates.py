"""Rates of this machine: for each stage what a step takes, fitted to what finished steps took; kept with their date."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.estimate.fit import fit, left_out_errors
from megacpp_assets.estimate.memory import fit_peaks
from megacpp_assets.estimate.observed import Observation
from megacpp_assets.pipeline.stages import CHECKPOINT, STAGE_NAMES
from megacpp_assets.storage.atomic import write_atomic

RATES_FILE: Final = "rates.json"
_RUN: Final = "finish some repositories in this data root first: make run, or megacpp run; then ask again"


@dataclass(frozen=True, slots=True)
class Rate:
    """Coefficients of a stage's features, for CPU seconds (all, and of its own process alone), peak bytes, stored bytes
    and tokens of one step; from `steps` observations, the last of the day `measured`.

    `median_error` and `worst_error` are relative errors of CPU seconds, each observation predicted from the others; -1
    if there is one only. `largest_peak` is the largest measured peak in bytes; 0 in a file of an earlier version.
    """

    cpu_seconds: tuple[float, ...]
    serial_seconds: tuple[float, ...]
    peak_bytes: tuple[float, ...]
    stored_bytes: tuple[float, ...]
    tokens: tuple[float, ...]
    steps: int
    measured: str
    median_error: float
    worst_error: float
    largest_peak: float = 0.0


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates by stage, and the machine that they were measured on."""

    machine: str
    stages: Mapping[str, Rate]

    def rate(self, stage: str) -> Rate | None:
        """Return the rate of `stage`; None if no finished step of it was measured."""
        return self.stages.get(stage)


def measured_rates(observed: Iterable[Observation]) -> Rates:
    """Fit rates to the observations. Raises `SpecError` for an empty list."""
    by_stage: dict[str, list[Observation]] = {}
    for each in observed:
        by_stage.setdefault(each.stage, []).append(each)
    if not by_stage:
        raise SpecError("rates of this machine", expected="finished steps with CPU seconds", found="none", do=_RUN)
    names = [name for name in STAGE_NAMES if name in by_stage and name != CHECKPOINT]
    return Rates(_machine(), {name: _rate(by_stage[name]) for name in names})


def keep_rates(root: Path, rates: Rates) -> None:
    """Write the rates into the data root."""
    write_atomic(root / RATES_FILE, canonical_json(asdict(rates)))


def kept_rates(file: Path) -> Rates:
    """Read rates that `keep_rates` wrote. Raises `SpecError` if the file is unreadable or malformed."""
    try:
        raw: dict[str, Any] = json.loads(file.read_bytes())
        stages = {name: Rate(**{k: _tuple(v) for k, v in rate.items()}) for name, rate in raw["stages"].items()}
        return Rates(str(raw["machine"]), stages)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        do = f"name the {RATES_FILE} of a data root where megacpp estimate ran"
        raise SpecError(f"rates {file}", expected="a file of megacpp estimate", found=str(error), do=do) from error


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _rate(observed: list[Observation]) -> Rate:
    features = [each.features for each in observed]
    cpu = [each.cpu_seconds for each in observed]
    errors = left_out_errors(features, cpu)
    peaks = [float(each.peak_bytes) for each in observed]
    return Rate(
        cpu_seconds=fit(features, cpu),
        serial_seconds=fit(features, [each.serial_seconds for each in observed]),
        peak_bytes=fit_peaks(observed[0].stage, features, peaks),
        stored_bytes=fit(features, [each.stored_bytes for each in observed]),
        tokens=fit(features, [each.tokens for each in observed]),
        steps=len(observed),
        measured=max(each.measured for each in observed),
        median_error=round(median(errors), 4) if errors else -1.0,
        worst_error=round(max(errors), 4) if errors else -1.0,
        largest_peak=max(peaks),
    )


def _machine() -> str:
    return f"{platform.node()}, {platform.machine()}, {os.cpu_count()} cores"
