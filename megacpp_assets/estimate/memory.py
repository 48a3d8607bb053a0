"""The peak memory of a step, from the peaks of finished steps.

Memory grows quickly with a repository while batches of documents are not full, and hardly afterwards. A line through
small steps is therefore no forecast for a large repository: it said 2,400 GB for Linux. So a line has an upper limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from megacpp_assets.estimate.fit import Features, apply
from megacpp_assets.pipeline.stages import INDEX, TOKENIZER

FULL_BATCHES: Final = 2e9
"""Bytes that no step needed beside what grows with its text (benchmarks/LOG.md, 2026-11-29: ten libraries)."""
GROWTH: Final = {INDEX: 12.0, TOKENIZER: 1.0}
"""Bytes for each character of the sources: at most so many for the graph of a repository (`megacpp bench
semantic_memory`), and one for the texts that the tokenizer is trained on. Other stages read and write parts of bounded
size."""


def fit_peaks(stage: str, features: Sequence[Features], peaks: Sequence[float]) -> tuple[float, ...]:
    """Return a coefficient for each feature: a line from the smallest measured peak to the peak of the largest step.

    It rises at least by the known growth of the stage.
    """
    sizes = [size_of(each) for each in features]
    base, largest = min(peaks), max(range(len(sizes)), key=lambda index: (sizes[index], peaks[index]))
    slope = (peaks[largest] - base) / sizes[largest] if sizes[largest] else 0.0
    slope = max(slope, 1e6 * GROWTH.get(stage, 0.0))
    first = _first_size(features[0])
    return (base, *[0.0] * (first - 1), *[slope] * (len(features[0]) - first))


def peak_of(stage: str, coefficients: Sequence[float], largest: float, features: Features) -> float:
    """Return the peak of a step in bytes. `largest` is the largest measured peak of the stage."""
    limit = max(FULL_BATCHES, largest) + GROWTH.get(stage, 0.0) * size_of(features) * 1e6
    return min(apply(coefficients, features), limit)


def size_of(features: Features) -> float:
    """Return megabytes of sources, or millions of what a step reads."""
    return sum(features[_first_size(features) :])


def _first_size(features: Features) -> int:
    """Return the index of the first size: those of a repository are one step, files, and megabytes of each language."""
    return 2 if len(features) > 2 else 1
