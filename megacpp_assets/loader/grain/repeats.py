"""Finds windows that repeat a short pattern too often, by OLMo-core's rule.

If `tokens[i] == tokens[i - p]` at r consecutive positions, a pattern of p tokens occurs (r + p) // p times. MaxText's
port of the rule also compares across the two ends of the window; OLMo-core and this module do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SAMPLES = 4
"""At how many positions a run is sampled before its length is measured."""


def repeats_too_often(
    tokens: NDArray[np.integer], *, max_period: int, min_period: int, max_count: int
) -> NDArray[np.bool_]:
    """Return, for each window of `tokens` (…, L), whether a pattern occurs at least `max_count` times; shape (…).

    The pattern has `min_period` to `max_period` tokens, at most a third of the window. Fewer than three occurrences
    never count.
    """
    rows = tokens.reshape(-1, tokens.shape[-1])
    found = np.zeros(len(rows), np.bool_)
    for period in range(min_period, min(max_period, rows.shape[1] // 3) + 1):
        run = period * (max(max_count, 3) - 1)
        for row in np.flatnonzero(_may_have(rows, period, run) & ~found):
            found[row] = _longest(rows[row, period:] == rows[row, :-period]) >= run
    return found.reshape(tokens.shape[:-1])


def _may_have(rows: NDArray[np.integer], period: int, run: int) -> NDArray[np.bool_]:
    """Return the mask of rows that may have `run` consecutive equal positions. Every row with such a run is included.

    Such a run contains at least run // stride consecutive multiples of the stride. So only these positions are
    compared, which rules out almost all rows cheaply.
    """
    stride = max(1, run // _SAMPLES)
    equal = rows[:, period::stride] == rows[:, : rows.shape[1] - period : stride]
    consecutive = run // stride
    if equal.shape[1] < consecutive:
        return np.zeros(len(rows), np.bool_)
    ends = equal.shape[1] - consecutive + 1
    every = equal[:, :ends].copy()
    for step in range(1, consecutive):
        every &= equal[:, step : step + ends]
    return np.asarray(every.any(axis=1))


def _longest(equal: NDArray[np.bool_]) -> int:
    """Return the length of the longest run of True."""
    breaks = np.concatenate([[-1], np.flatnonzero(~equal), [len(equal)]])
    return int(np.diff(breaks).max()) - 1
