"""Cuts a document into pieces at given offsets, with all its columns.

One document in, its pieces out: their texts join to its text, their character columns to its columns; chunks, edges
and constituents are shifted, clipped to the piece, and dropped where they have no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.schemas import CHANGE_TYPES, CHAR_TYPES
from megacpp_assets.tokenized.records import DOCUMENTS, offsets_of

_Row = dict[str, Any]


def cut_document(document: pa.Table, cuts: Sequence[int]) -> pa.Table:
    """Return the pieces of a one-row table of `records.DOCUMENTS`, one row per piece.

    Piece `i` is text[cuts[i]:cuts[i + 1]] and is called `<doc_id>.<i as four digits>`; the other provenance columns
    stay the document's. An edge stays where both of its chunks have a part in the same piece.
    """
    row = document.drop_columns([*CHAR_TYPES, *CHANGE_TYPES]).to_pylist()[0]
    pieces = [_piece(row, index, begin, end) for index, (begin, end) in enumerate(pairwise(cuts))]
    lengths = np.array([end - begin for begin, end in pairwise(cuts)], dtype=np.int64)
    arrays = [
        _per_character(document[field.name], lengths)
        if field.name in CHAR_TYPES or field.name in CHANGE_TYPES
        else pa.array([piece[field.name] for piece in pieces], field.type)
        for field in DOCUMENTS
    ]
    return pa.Table.from_arrays(arrays, schema=DOCUMENTS)


def _per_character(column: pa.ChunkedArray, lengths: NDArray[np.int64]) -> pa.ListArray:
    """Return the values of a document divided among its pieces. A column without values has none in any piece."""
    values = column.chunk(0).flatten()
    return pa.ListArray.from_arrays(offsets_of(lengths if len(values) else np.zeros_like(lengths)), values)


def _piece(row: _Row, index: int, begin: int, end: int) -> _Row:
    chunks, place = _chunks(row[c.CHUNK_BOUNDARIES], begin, end)
    return {
        **row,
        c.DOC_ID: f"{row[c.DOC_ID]}.{index:04d}",
        c.TEXT: row[c.TEXT][begin:end],
        c.CHUNK_BOUNDARIES: chunks,
        c.CONSTITUENTS: _constituents(row, begin, end),
        c.CALL_EDGES: _edges(row[c.CALL_EDGES], ("caller_idx", "callee_idx"), place),
        c.TYPE_EDGES: _edges(row[c.TYPE_EDGES], ("type_idx", "user_idx"), place),
    }


def _chunks(chunks: list[_Row], begin: int, end: int) -> tuple[list[_Row], dict[int, int]]:
    """Return (chunks that overlap [begin, end), clipped and shifted; new index by old index)."""
    kept: list[_Row] = []
    place: dict[int, int] = {}
    for index, chunk in enumerate(chunks):
        start, stop = max(chunk["char_offset"], begin), min(chunk["char_end"], end)
        if start < stop:
            place[index] = len(kept)
            kept.append({**chunk, "char_offset": start - begin, "char_end": stop - begin})
    return kept, place


def _edges(edges: list[_Row], ends: tuple[str, str], place: dict[int, int]) -> list[_Row]:
    one, other = ends
    return [
        {**edge, one: place[edge[one]], other: place[edge[other]]}
        for edge in edges
        if edge[one] in place and edge[other] in place
    ]


def _constituents(row: _Row, begin: int, end: int) -> list[_Row]:
    kept = []
    for part in row[c.CONSTITUENTS]:
        start, stop = max(part["char_start"], begin), min(part["char_end"], end)
        if start < stop:
            place = {"char_start": start - begin, "char_end": stop - begin}
            kept.append({**part, **_byte_range(part, row[c.TEXT], start, stop), **place})
    return kept


def _byte_range(part: _Row, text: str, start: int, stop: int) -> dict[str, int]:
    """Return the byte range of text[start:stop] in the file of `part`.

    It is the range of the whole part if the text of the part is not made of the file's bytes.
    """
    ranges = ((part["char_start"], start), (start, stop), (stop, part["char_end"]))
    before, inside, after = (len(text[low:high].encode(part["encoding"], "replace")) for low, high in ranges)
    if before + inside + after != part["byte_end"] - part["byte_start"]:
        return {}
    return {"byte_start": part["byte_start"] + before, "byte_end": part["byte_start"] + before + inside}
