"""Lists of a table as flat numpy arrays with offsets, and back: the form in which stages and checks compute.

Document `i` owns values[offsets[i]:offsets[i + 1]]; there is no Python object per token.
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
        """Values per document."""
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
        """Whether any of a document's values is flagged; `flags` has one entry per value."""
        if not flags.any():  # nearly always, where a rule is broken by what it flags
            return np.zeros(len(self.offsets) - 1, dtype=np.bool_)
        return self.sums(flags) > 0

    def sums(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """The sum of `values`, one per value, over each document."""
        running = np.zeros(len(values) + 1, dtype=np.int64)
        np.cumsum(values, out=running[1:])
        return np.asarray(running[self.offsets[1:]] - running[self.offsets[:-1]])

    def repeat(self, per_document: NDArray[Any]) -> NDArray[Any]:
        """Each document's entry of `per_document` for each of its values."""
        return np.repeat(per_document, self.lengths)

    def keep(self, documents: NDArray[np.bool_]) -> Ragged:
        """The same documents, those that are not in `documents` without values."""
        if documents.all():
            return self
        return Ragged(offsets_from(np.where(documents, self.lengths, 0)), self.values[self.repeat(documents)])


def tolerant(column: pa.ListArray, absent: int = 0) -> Ragged:
    """A list column of numbers that need not be sound: no list is an empty one, no value is `absent`."""
    values = column.flatten()
    filled = values.fill_null(absent) if values.null_count else values
    return Ragged(offsets_from(list_lengths(column)), filled.to_numpy(zero_copy_only=False))


def list_lengths(column: pa.ListArray) -> NDArray[np.int64]:
    """The length of each list; 0 where there is none."""
    return np.asarray(np.diff(column.offsets.to_numpy()).astype(np.int64))


def ragged(table: pa.Table, name: str) -> Ragged:
    """The list column `name`: numpy values, or an Arrow struct array. `SchemaViolation` for a null anywhere in it."""
    column = one_chunk(table[name])
    values = column.flatten()
    if column.null_count or values.null_count:
        raise SchemaViolation(f"column {name}", expected="a list of values in every document", found="null")
    offsets = column.offsets.to_numpy().astype(np.int64)
    is_struct = pa.types.is_struct(values.type)
    return Ragged(offsets - offsets[0], values if is_struct else values.to_numpy(zero_copy_only=False))


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array, copied only where it is several."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def struct_field(values: pa.StructArray, name: str) -> NDArray[Any]:
    """The child `name` of a struct array as numpy; `SchemaViolation` for a null."""
    child = values.field(name)
    if child.null_count:
        raise SchemaViolation(f"field {name}", expected="a value", found="null")
    return np.asarray(child.to_numpy(zero_copy_only=False))


def padded(values: NDArray[Any], lengths: NDArray[np.int64], width: int) -> NDArray[Any]:
    """(documents, width) of lists that lie end to end, none longer than `width`, with 0 behind each."""
    out = np.zeros((len(lengths), width), values.dtype)
    out[np.arange(width) < lengths[:, None]] = values
    return out


def offsets_from(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Offsets of lists with these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def list_array(offsets: NDArray[np.int64], values: pa.Array) -> pa.ListArray:
    """Inverse of `ragged`."""
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)
