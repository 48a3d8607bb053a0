"""Semantic records to Arrow: a batch of JSONL records becomes one table of documents that have no tokens yet.

Every character column has exactly one value per character of its document's text.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import CHAR_TYPES, TOKENIZED

TOKEN_COLUMNS: Final = (c.TOKEN_IDS_COLUMN, c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS, c.ACTUAL_TOKEN_COUNT)

DOCUMENTS: Final = pa.schema([field for field in TOKENIZED if field.name not in TOKEN_COLUMNS])
"""The tokenized schema before there are tokens."""


def documents_table(records: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Records of `schemas.JSONL_KEYS` as a table of `DOCUMENTS`.

    Raises `SchemaViolation`, naming the document, for a value of another type, out of its type's range, or a character
    column whose length is not the text's.
    """
    lengths = np.fromiter((len(record[c.TEXT]) for record in records), dtype=np.int64, count=len(records))
    arrays = [
        _char_column(records, field.name, lengths) if field.name in CHAR_TYPES else _column(records, field)
        for field in DOCUMENTS
    ]
    return pa.Table.from_arrays(arrays, schema=DOCUMENTS)


def _column(records: Sequence[Mapping[str, Any]], field: pa.Field) -> pa.Array:
    where = f"semantic records, key {field.name}"
    try:
        column = pa.array([record[field.name] for record in records], type=field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise SchemaViolation(where, expected=field.type, found=str(error)) from error
    if _holds_null(column):
        raise SchemaViolation(where, expected="every value present", found="a null or a missing field")
    return column


def _holds_null(column: pa.Array) -> bool:
    if column.null_count:
        return True
    if pa.types.is_list(column.type):
        return _holds_null(column.flatten())
    return pa.types.is_struct(column.type) and any(_holds_null(child) for child in column.flatten())


def _char_column(records: Sequence[Mapping[str, Any]], name: str, lengths: NDArray[np.int64]) -> pa.Array:
    dtype = np.dtype(CHAR_TYPES[name].to_pandas_dtype())
    parts = []
    for record, length in zip(records, lengths, strict=True):
        if len(record[name]) != length:
            raise SchemaViolation(f"{record[c.DOC_ID]}, key {name}", expected=int(length), found=len(record[name]))
        parts.append(_integers(record[name], dtype, f"{record[c.DOC_ID]}, key {name}"))
    flat = np.concatenate(parts) if parts else np.empty(0, dtype)
    return pa.ListArray.from_arrays(offsets_of(lengths), pa.array(flat))


def _integers(values: list[int], dtype: np.dtype[Any], where: str) -> NDArray[Any]:
    # bytes() and array() walk the list in C, four times as fast as numpy.array(), and check type and range.
    try:
        if dtype.itemsize == 1:
            return np.frombuffer(bytes(values), dtype=np.uint8)
        wide = np.frombuffer(array("I", values), dtype=np.uint32)
    except (ValueError, OverflowError, TypeError) as error:
        raise SchemaViolation(where, expected=f"integers of {dtype}", found=str(error)) from error
    if wide.size and wide.max() > np.iinfo(dtype).max:
        raise SchemaViolation(where, expected=f"integers of {dtype}", found=int(wide.max()))
    return wide.astype(dtype, copy=False)


def offsets_of(lengths: NDArray[Any]) -> pa.Array:
    """List offsets (int32) of lists that have these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.array(offsets)
