"""Painting nested byte ranges into flat arrays without a Python step per range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def paint(size: int, starts: Ints, ends: Ints, levels: Ints) -> NDArray[np.int32]:
    """Index of the range that owns each of `size` bytes, or -1.

    Higher `levels` win; on one level the earlier range wins. Ranges may be empty and may cross.
    """
    bounds, first, last = _segments(size, starts, ends)
    owner = np.full(len(bounds) - 1, -1, dtype=np.int32)
    order = np.lexsort((-np.arange(len(starts)), levels))
    sorted_levels = levels[order]
    cuts = np.flatnonzero(np.diff(sorted_levels, prepend=sorted_levels[:1] - 1)) if len(order) else order
    for group in np.split(order, cuts[1:]) if len(order) else ():
        owner[expand(first[group], last[group])] = np.repeat(group, last[group] - first[group])
    return np.repeat(owner, np.diff(bounds))


def cover(size: int, starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """True for each of `size` bytes that lies in at least one range."""
    steps = np.zeros(size + 1, dtype=np.int64)
    np.add.at(steps, starts, 1)
    np.subtract.at(steps, ends, 1)
    return np.asarray(np.cumsum(steps[:-1]) > 0)


def expand(starts: Ints, ends: Ints) -> Ints:
    """All positions of the ranges, concatenated: [2, 5), [9, 11) -> 2 3 4 9 10."""
    lengths = ends - starts
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(total)


def keys(starts: NDArray[np.integer[Any]], ends: NDArray[np.integer[Any]]) -> Ints:
    """One number per range, equal for equal ranges (offsets below 2^31)."""
    return (starts.astype(np.int64) << 32) | ends.astype(np.int64)


def flattened(levels: Ints, ranges: Ints, flat: Ints) -> Ints:
    """`levels` in which all members of a range that is in `flat` have the level of the least nested among them.

    Whatever a macro expands to has the invocation's range; flattened, none of it hides the macro's own arguments.
    """
    unique, group = np.unique(ranges, return_inverse=True)
    least = np.full(len(unique), np.iinfo(np.int64).max)
    np.minimum.at(least, group, levels)
    return np.where(np.isin(ranges, flat), least[group], levels) if len(unique) else levels


def _segments(size: int, starts: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    bounds = np.unique(np.concatenate(([0, size], starts, ends))).astype(np.int64)
    return bounds, np.searchsorted(bounds, starts), np.searchsorted(bounds, ends)
