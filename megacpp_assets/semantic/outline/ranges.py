"""Writes nested byte ranges into flat arrays without a Python step for each range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import _visitor

Ints = NDArray[np.int64]


def paint(size: int, starts: Ints, ends: Ints, levels: Ints) -> NDArray[np.int32]:
    """Return the index of the range that owns each of `size` bytes, or -1.

    Of several ranges the highest of `levels` wins, then the first range. Ranges may be empty and may cross.
    `ValueError` for a range outside of the bytes.
    """
    return _visitor.paint(size, starts, ends, levels)


def cover(size: int, starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Return for each of `size` bytes whether it is in at least one range."""
    steps = np.zeros(size + 1, dtype=np.int32)
    np.add.at(steps, starts, 1)
    np.subtract.at(steps, ends, 1)
    return np.asarray(np.cumsum(steps[:-1], dtype=np.int32) > 0)


def keys(starts: NDArray[np.integer[Any]], ends: NDArray[np.integer[Any]]) -> Ints:
    """Return one number for each range, equal for equal ranges. Offsets must be below 2^31."""
    return (starts.astype(np.int64) << 32) | ends.astype(np.int64)


def among(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each of `values` is one of the `known`. For small columns this is faster than `np.isin`."""
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    known = np.sort(known)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[place] == values)


def flattened(levels: Ints, ranges: Ints, flat: Ints) -> Ints:
    """Return `levels` in which all members of a range that is in `flat` have the lowest level among them.

    libclang gives the expansion of a macro the range of its invocation. Its nested cursors would hide the arguments of
    the macro, which have their own ranges; with equal levels they do not.
    """
    return _visitor.flattened(levels, ranges, flat)


def spread(records: NDArray[np.void], name: str, owner: NDArray[np.int32], values: NDArray[Any]) -> None:
    """Set the field `name` of each of `records` to the value of its owner. Records with owner -1 are not changed."""
    kind, offset = _field(records, name)
    _visitor.spread(_bytes(records), offset, owner, _bytes(values.astype(kind)))


def fill(records: NDArray[np.void], name: str, starts: Ints, ends: Ints, values: NDArray[Any]) -> None:
    """Set the field `name` of the records of each range to its value. `ValueError` for a range outside of them."""
    kind, offset = _field(records, name)
    _visitor.fill(_bytes(records), offset, starts, ends, _bytes(values.astype(kind)))


def _field(records: NDArray[np.void], name: str) -> tuple[np.dtype[Any], int]:
    fields = records.dtype.fields
    assert fields is not None
    kind, offset, *_ = fields[name]
    return kind, offset


def _bytes(rows: NDArray[Any]) -> NDArray[np.uint8]:
    return rows.view(np.uint8).reshape(len(rows), rows.dtype.itemsize)
