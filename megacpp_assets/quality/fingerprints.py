"""A 64-bit fingerprint of each document over several token columns, to compare it with itself one stage later.

Values end to end come in, one number per document goes out; it depends on every value, its column and its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def fingerprints(columns: Sequence[NDArray[Any]], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One fingerprint per document. Each column holds `lengths[i]` integers of document i, document after document."""
    starts = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum()), dtype=np.uint64) - np.repeat(starts, lengths).astype(np.uint64)
    mixed = np.zeros(len(places), dtype=np.uint64)
    for number, values in enumerate(columns):
        mixed += values.astype(np.uint64) * _multiplier(number)
    mixed ^= mixed >> _SHIFT
    mixed *= _scrambled(places)
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed)])
    return np.asarray(running[starts + lengths] - running[starts])


def _multiplier(number: int) -> np.uint64:
    return np.uint64((int(_ODD) * (2 * number + 1)) % 2**64)


def _scrambled(places: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A distinct odd number for each place, far apart for neighbours."""
    scrambled = places * _ODD
    scrambled ^= scrambled >> _SHIFT
    scrambled *= _ODD
    return np.asarray(scrambled | np.uint64(1))
