"""Whether tokens repeat a short pattern too often, by OLMo-core's rule.

`tokens[i] == tokens[i - p]` for r places in a row is a pattern of p tokens that stands (r + p) // p times. MaxText's
port of the rule also counts across the two ends of the window, where no text is; OLMo-core and this do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SAMPLES = 4
"""How often a run that is long enough is looked at before it is measured."""


def repeats_too_often(
    tokens: NDArray[np.integer], *, max_period: int, min_period: int, max_count: int
) -> NDArray[np.bool_]:
    """For each window (…, L) whether a pattern of min_period to max_period tokens stands `max_count` times or more.

    Shape (…). A pattern counts from its third time on, and may be a third of the window long at most.
    """
    rows = tokens.reshape(-1, tokens.shape[-1])
    found = np.zeros(len(rows), np.bool_)
    for period in range(min_period, min(max_period, rows.shape[1] // 3) + 1):
        run = period * (max(max_count, 3) - 1)
        for row in np.flatnonzero(_may_have(rows, period, run) & ~found):
            found[row] = _longest(rows[row, period:] == rows[row, :-period]) >= run
    return found.reshape(tokens.shape[:-1])


def _may_have(rows: NDArray[np.integer], period: int, run: int) -> NDArray[np.bool_]:
    """Rows that may have `run` equal places one after another: each of them has, and hardly any other.

    Such a run holds at least run // stride places at multiples of the stride, which follow one another.
    """
    stride = max(1, run // _SAMPLES)
    equal = rows[:, period::stride] == rows[:, : rows.shape[1] - period : stride]
    together = run // stride
    if equal.shape[1] < together:
        return np.zeros(len(rows), np.bool_)
    ends = equal.shape[1] - together + 1
    every = equal[:, :ends].copy()
    for step in range(1, together):
        every &= equal[:, step : step + ends]
    return np.asarray(every.any(axis=1))


def _longest(equal: NDArray[np.bool_]) -> int:
    """The longest run of True."""
    breaks = np.concatenate([[-1], np.flatnonzero(~equal), [len(equal)]])
    return int(np.diff(breaks).max()) - 1
