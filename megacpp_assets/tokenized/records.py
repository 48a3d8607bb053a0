"""Semantic records to Arrow: a batch of JSONL records becomes one table of documents that have no tokens yet.

Every character column has exactly one value per character of its document's text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
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


def documents_table(records: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Records of `schemas.JSONL_KEYS` as a table of `DOCUMENTS`.

    Raises `SchemaViolation`, naming the document or the key, for a value of another type, out of its type's range, or a
    character column whose length is not the text's.
    """
    plain: dict[str, list[Any]] = {name: [] for name in DOCUMENTS.names if name not in CHAR_TYPES}
    chars: dict[str, list[NDArray[Any]]] = {name: [] for name in CHAR_TYPES}
    for record in records:
        for name, values in plain.items():
            values.append(record[name])
        for name, parts in chars.items():
            parts.append(_char_values(record, name))
    columns = {name: _column(name, values) for name, values in plain.items()}
    offsets = offsets_of(np.array([len(text) for text in plain[c.TEXT]], dtype=np.int64))
    columns |= {name: pa.ListArray.from_arrays(offsets, _joined(parts, name)) for name, parts in chars.items()}
    return pa.Table.from_arrays([columns[name] for name in DOCUMENTS.names], schema=DOCUMENTS)


def _column(name: str, values: list[Any]) -> pa.Array:
    where, kind = f"semantic records, key {name}", DOCUMENTS.field(name).type
    try:
        column = pa.array(values, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise SchemaViolation(where, expected=kind, found=str(error)) from error
    if _holds_null(column):
        raise SchemaViolation(where, expected="every value present", found="a null or a missing field")
    return column


def _holds_null(column: pa.Array) -> bool:
    if column.null_count:
        return True
    if pa.types.is_list(column.type):
        return _holds_null(column.flatten())
    return pa.types.is_struct(column.type) and any(_holds_null(child) for child in column.flatten())


def _char_values(record: Mapping[str, Any], name: str) -> NDArray[Any]:
    where, text, values = f"{record[c.DOC_ID]}, key {name}", record[c.TEXT], record[name]
    if not isinstance(text, str) or not isinstance(values, list | np.ndarray):
        raise SchemaViolation(where, expected="a text and a list", found=f"{type(text)} and {type(values)}")
    if len(values) != len(text):
        raise SchemaViolation(where, expected=len(text), found=len(values))
    if isinstance(values, np.ndarray):
        return values
    return _integers(values, np.dtype(CHAR_TYPES[name].to_pandas_dtype()), where)


def _joined(parts: list[NDArray[Any]], name: str) -> pa.Array:
    return pa.array(np.concatenate(parts) if parts else [], type=CHAR_TYPES[name])


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
