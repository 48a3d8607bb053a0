"""Painting nested byte ranges into flat arrays without a Python step per range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import _visitor

Ints = NDArray[np.int64]


def paint(size: int, starts: Ints, ends: Ints, levels: Ints) -> NDArray[np.int32]:
    """Index of the range that owns each of `size` bytes, or -1.

    Higher `levels` win; on one level the earlier range wins. Ranges may be empty and may cross; `ValueError` for one
    that lies outside the bytes.
    """
    return _visitor.paint(size, starts, ends, levels)


def cover(size: int, starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """True for each of `size` bytes that lies in at least one range."""
    steps = np.zeros(size + 1, dtype=np.int32)
    np.add.at(steps, starts, 1)
    np.subtract.at(steps, ends, 1)
    return np.asarray(np.cumsum(steps[:-1], dtype=np.int32) > 0)


def keys(starts: NDArray[np.integer[Any]], ends: NDArray[np.integer[Any]]) -> Ints:
    """One number per range, equal for equal ranges (offsets below 2^31)."""
    return (starts.astype(np.int64) << 32) | ends.astype(np.int64)


def among(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each of `values` is one of the `known`; for small columns, where numpy's own way costs more."""
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    known = np.sort(known)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[place] == values)


def flattened(levels: Ints, ranges: Ints, flat: Ints) -> Ints:
    """`levels` in which all members of a range that is in `flat` have the level of the least nested among them.

    Whatever a macro expands to has the invocation's range; flattened, none of it hides the macro's own arguments.
    """
    return _visitor.flattened(levels, ranges, flat)


def spread(records: NDArray[np.void], name: str, owner: NDArray[np.int32], values: NDArray[Any]) -> None:
    """Set the field `name` of each of `records` to the value of its owner; those without one (-1) stay as they are."""
    kind, offset = _field(records, name)
    _visitor.spread(_bytes(records), offset, owner, _bytes(values.astype(kind)))


def fill(records: NDArray[np.void], name: str, starts: Ints, ends: Ints, values: NDArray[Any]) -> None:
    """Set the field `name` of the records of each range to its value; `ValueError` for a range outside them."""
    kind, offset = _field(records, name)
    _visitor.fill(_bytes(records), offset, starts, ends, _bytes(values.astype(kind)))


def _field(records: NDArray[np.void], name: str) -> tuple[np.dtype[Any], int]:
    fields = records.dtype.fields
    assert fields is not None
    kind, offset, *_ = fields[name]
    return kind, offset


def _bytes(rows: NDArray[Any]) -> NDArray[np.uint8]:
    return rows.view(np.uint8).reshape(len(rows), rows.dtype.itemsize)
