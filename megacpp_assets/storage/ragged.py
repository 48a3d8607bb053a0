"""Converts list columns of a table to flat numpy arrays with offsets, and back. Stages and checks compute with them.

Document `i` has values[offsets[i]:offsets[i + 1]]. So there is no Python object per token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SchemaViolation


@dataclass(frozen=True, slots=True)
class Ragged:
    """One list column: `offsets` (documents + 1, int64, from 0) into `values`."""

    offsets: NDArray[np.int64]
    values: Any

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of values of each document."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> NDArray[np.int64]:
        """The document of each value."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)

    @property
    def position(self) -> NDArray[np.int64]:
        """The index of each value within its document."""
        return np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], self.lengths)

    def any(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each document whether any of its values is flagged. `flags` has one entry per value."""
        if not flags.any():  # the common case: the flags mark broken rules
            return np.zeros(len(self.offsets) - 1, dtype=np.bool_)
        return self.sums(flags) > 0

    def sums(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the sum of `values`, which has one entry per value, over each document."""
        running = np.zeros(len(values) + 1, dtype=np.int64)
        np.cumsum(values, out=running[1:])
        return np.asarray(running[self.offsets[1:]] - running[self.offsets[:-1]])

    def repeat(self, per_document: NDArray[Any]) -> NDArray[Any]:
        """Return the entry of `per_document` of each value's document."""
        return np.repeat(per_document, self.lengths)

    def keep(self, documents: NDArray[np.bool_]) -> Ragged:
        """Return the same documents, but without values for those that are not marked in `documents`."""
        if documents.all():
            return self
        return Ragged(offsets_from(np.where(documents, self.lengths, 0)), self.values[self.repeat(documents)])


def tolerant(column: pa.ListArray, absent: int = 0) -> Ragged:
    """Return a list column of numbers that may have nulls: a null list is empty, a null value is `absent`."""
    values = column.flatten()
    filled = values.fill_null(absent) if values.null_count else values
    return Ragged(offsets_from(list_lengths(column)), filled.to_numpy(zero_copy_only=False))


def list_lengths(column: pa.ListArray) -> NDArray[np.int64]:
    """Return the length of each list; 0 for a null."""
    return np.asarray(np.diff(column.offsets.to_numpy()).astype(np.int64))


def ragged(table: pa.Table, name: str) -> Ragged:
    """Return the list column `name` with numpy values or an Arrow struct array. `SchemaViolation` for any null."""
    column = one_chunk(table[name])
    values = column.flatten()
    if column.null_count or values.null_count:
        raise SchemaViolation(f"column {name}", expected="a list of values in every document", found="null")
    offsets = column.offsets.to_numpy().astype(np.int64)
    is_struct = pa.types.is_struct(values.type)
    return Ragged(offsets - offsets[0], values if is_struct else values.to_numpy(zero_copy_only=False))


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Return the column as one array. It is copied only if it has several chunks."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def struct_field(values: pa.StructArray, name: str) -> NDArray[Any]:
    """Return the child `name` of a struct array as numpy. `SchemaViolation` for a null."""
    child = values.field(name)
    if child.null_count:
        raise SchemaViolation(f"field {name}", expected="a value", found="null")
    return np.asarray(child.to_numpy(zero_copy_only=False))


def padded(values: NDArray[Any], lengths: NDArray[np.int64], width: int) -> NDArray[Any]:
    """Return (documents, width) from concatenated lists, none longer than `width`, padded with 0."""
    out = np.zeros((len(lengths), width), values.dtype)
    out[np.arange(width) < lengths[:, None]] = values
    return out


def offsets_from(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets of lists with these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def list_array(offsets: NDArray[np.int64], values: pa.Array) -> pa.ListArray:
    """Return an Arrow list array: the inverse of `ragged`."""
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)
