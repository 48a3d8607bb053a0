"""Converts a batch of JSONL records to an Arrow table of documents without tokens.

A character column has one value per character of its document's text; a record without labels (an empty list) gets the
fill value. Change columns have one value per character, or none in a document that is not made of a commit.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import AST_NODE_UNKNOWN
from megacpp_assets.contract.schemas import CHANGE_TYPES, CHAR_TYPES, CONSTITUENT, TOKENIZED

TOKEN_COLUMNS: Final = (c.TOKEN_IDS_COLUMN, c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS, c.ACTUAL_TOKEN_COUNT)

DOCUMENTS: Final = pa.schema([field for field in TOKENIZED if field.name not in TOKEN_COLUMNS])
"""The tokenized schema without the token columns."""


def documents_table(records: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return records of `schemas.JSONL_KEYS` as a table of `DOCUMENTS`.

    Raises `SchemaViolation`, naming the document or the key, for a value of another type, out of its type's range, or a
    character column whose length is not the text's.
    """
    per_character = CHAR_TYPES | CHANGE_TYPES
    plain: dict[str, list[Any]] = {name: [] for name in DOCUMENTS.names if name not in per_character}
    chars: dict[str, list[NDArray[Any]]] = {name: [] for name in CHAR_TYPES}
    runs: list[Sequence[Sequence[int]]] = []
    for record in records:
        for name, values in plain.items():
            values.append(record[name])
        for name, parts in chars.items():
            parts.append(_char_values(record, name))
        runs.append(record.get(c.CHANGES, ()))
    lengths = np.array([len(text) for text in plain[c.TEXT]], dtype=np.int64)
    columns = {name: _column(name, values) for name, values in plain.items()}
    offsets = offsets_of(lengths)
    columns |= {name: pa.ListArray.from_arrays(offsets, _joined(parts, name)) for name, parts in chars.items()}
    columns |= _change_columns(runs, lengths, plain[c.DOC_ID])
    return pa.Table.from_arrays([columns[name] for name in DOCUMENTS.names], schema=DOCUMENTS)


def _change_columns(
    runs: list[Sequence[Sequence[int]]], lengths: NDArray[np.int64], doc_ids: list[str]
) -> dict[str, pa.ListArray]:
    """Return the change columns, from runs (characters, mask before, mask after, hunk, edit operation)."""
    kept = np.zeros(len(runs), dtype=np.int64)
    tables: list[NDArray[np.int32]] = [np.zeros((0, 1 + len(CHANGE_TYPES)), dtype=np.int32)]
    for index, document in enumerate(runs):
        if not document:
            continue
        table = np.array(document, dtype=np.int32).reshape(-1, 1 + len(CHANGE_TYPES))
        if table[:, 0].min() < 0 or table[:, 0].sum() != lengths[index]:
            found = f"{table[:, 0].sum()} characters"
            raise SchemaViolation(f"{doc_ids[index]}, key {c.CHANGES}", expected=lengths[index], found=found)
        kept[index] = lengths[index]
        tables.append(table)
    joined, offsets = np.concatenate(tables), offsets_of(kept)
    return {
        name: pa.ListArray.from_arrays(offsets, pa.array(np.repeat(joined[:, 1 + place], joined[:, 0]), type=kind))
        for place, (name, kind) in enumerate((name, kind) for name, kind in CHANGE_TYPES.items())
    }


def _column(name: str, values: list[Any]) -> pa.Array:
    where, kind = f"JSONL records, key {name}", DOCUMENTS.field(name).type
    try:
        column = pa.array(values, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise SchemaViolation(where, expected=kind, found=str(error)) from error
    if name == c.CONSTITUENTS:
        column = _with_defaults(column)
    if _holds_null(column):
        raise SchemaViolation(where, expected="every value present", found="a null or a missing field")
    return column


def _with_defaults(column: pa.ListArray) -> pa.ListArray:
    """Return constituents with the fields that records omit.

    Documents of the pinned commit omit the blob. Documents of a history omit the encoding, which is UTF-8.
    """
    parts = column.values
    fields = [parts.field(field.name) for field in CONSTITUENT]
    for name, default in (("blob", ""), ("encoding", "utf-8")):
        place = CONSTITUENT.get_field_index(name)
        fields[place] = fields[place].fill_null(default)
    return pa.ListArray.from_arrays(
        column.offsets, pa.StructArray.from_arrays(fields, fields=list(CONSTITUENT)), mask=column.is_null()
    )


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
    if not len(values):
        fill = AST_NODE_UNKNOWN if name == c.AST_NODE_TYPE else 0
        return np.full(len(text), fill, dtype=CHAR_TYPES[name].to_pandas_dtype())
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
    """Return the offsets (int32) of lists with these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.array(offsets)
