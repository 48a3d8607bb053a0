"""Chunks of packed rows at the fixed width max(128, T // 32), and how they relate, from the rows' own columns.

All of it is numpy on the host: nothing here may run inside a compiled step. Row r of a Megatron split is row r of the
packed rows behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import CATEGORY_ID, fixed_max_chunks

RELATIONS: Final = (
    "same_chunk", "caller_to_callee", "callee_to_caller", "type_dependency", "type_dependent", "same_dep_level",
    "adjacent_dep_level", "preamble_to_code", "code_to_preamble",
)  # fmt: skip
"""By the second axis of a relation mask."""

_PREAMBLE: Final = CATEGORY_ID["preamble"]
_LISTS: Final = (
    c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN, c.TOKEN_CHUNK_KINDS_COLUMN,
    c.TOKEN_CHUNK_DEP_LEVELS_COLUMN,
)  # fmt: skip
CHUNK_COLUMNS: Final = (c.DOC_IDS, *c.PACKED_ROWS_CHUNK_METADATA_COLUMNS)
"""What `chunk_batch` reads of packed rows."""


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """Chunks of B rows in C slots, (B, C) int32 each. Slots without a chunk have 0, and so `ends == starts`.

    Chunk i of a row is its tokens [starts, ends), in the document numbered `documents`, -1 where there is none. `calls`
    and `types` are (E, 3) int64: row, chunk that calls or uses, chunk that is called or used.
    """

    row_tokens: int
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    kinds: NDArray[np.int32]
    dep_levels: NDArray[np.int32]
    documents: NDArray[np.int32]
    calls: NDArray[np.int64]
    types: NDArray[np.int64]

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Slots that hold a chunk, (B, C)."""
        return np.asarray(self.ends > self.starts)


def chunk_batch(rows: pa.Table, row_tokens: int) -> ChunkBatch:
    """The chunks of packed `rows`, which have `CHUNK_COLUMNS`.

    `SchemaViolation` for a missing column, more chunks than slots, chunks that are empty, overlap or leave the row, and
    edges between chunks that are not there.
    """
    missing = sorted(set(CHUNK_COLUMNS) - set(rows.column_names))
    if missing:
        raise _refused(", ".join(missing), "a column of packed rows", "none")
    slots = fixed_max_chunks(row_tokens)
    counts, padded = _padded(rows, slots)
    starts, ends, kinds, levels = padded
    _require_in_order(starts, ends, counts, row_tokens)
    doc_ids = _flat(rows, c.DOC_IDS).reshape(rows.num_rows, -1)
    if doc_ids.shape[1] != row_tokens:
        raise _refused(c.DOC_IDS, f"{row_tokens} values a row", str(doc_ids.shape[1]))
    held = np.arange(slots) < counts[:, None]
    documents = np.where(held, np.take_along_axis(doc_ids, starts, axis=1).astype(np.int32), -1)
    edges = [_edges(rows, column, counts) for column in (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN)]
    return ChunkBatch(row_tokens, starts, ends, kinds, levels, documents.astype(np.int32), *edges)


def token_chunk_ids(chunks: ChunkBatch) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """(ids, valid), both (B, T): the chunk that each token lies in, of two the later; 0 where `valid` is False."""
    shape = (len(chunks.starts), chunks.row_tokens)
    ids, valid = np.zeros(shape, np.int32), np.zeros(shape, np.bool_)
    lengths = chunks.ends - chunks.starts
    rows, slots = np.nonzero(lengths)
    sizes = lengths[rows, slots]
    first = np.cumsum(sizes) - sizes
    within = np.arange(int(sizes.sum())) - np.repeat(first, sizes)
    places = np.repeat(rows, sizes), np.repeat(chunks.starts[rows, slots], sizes) + within
    ids[places], valid[places] = np.repeat(slots, sizes), True
    return ids, valid


def chunk_relation_mask(chunks: ChunkBatch) -> NDArray[np.bool_]:
    """(B, R, C, C), R by `RELATIONS`: whether chunk i has the relation to chunk j at [b, r, i, j].

    Only chunks of one document relate: rows hold documents of several repositories, which know nothing of each other.
    """
    batch, slots = chunks.starts.shape
    mask = np.zeros((batch, len(RELATIONS), slots, slots), np.bool_)
    valid = chunks.valid
    together = (chunks.documents[:, :, None] == chunks.documents[:, None, :]) & valid[:, :, None] & valid[:, None, :]
    mask[:, 0] = together & np.eye(slots, dtype=np.bool_)
    for forward, edges in ((1, chunks.calls), (3, chunks.types)):
        row, source, target = edges.T
        mask[row, forward, source, target] = True
        mask[row, forward + 1, target, source] = True
    mask[:, 1:5] &= together[:, None]
    apart = np.abs(chunks.dep_levels[:, :, None] - chunks.dep_levels[:, None, :])
    mask[:, 5] = together & (apart == 0)
    mask[:, 6] = together & (apart == 1)
    preamble = chunks.kinds == _PREAMBLE
    mask[:, 7] = together & preamble[:, :, None] & ~preamble[:, None, :]
    mask[:, 8] = together & ~preamble[:, :, None] & preamble[:, None, :]
    return mask


def _padded(rows: pa.Table, slots: int) -> tuple[NDArray[np.int64], list[NDArray[np.int32]]]:
    """(chunks of each row, the four columns in slots)."""
    counts = _counts(rows, _LISTS[0])
    if counts.max(initial=0) > slots:
        raise _refused("row", f"at most {slots} chunks", str(counts.max()))
    held = np.arange(slots) < counts[:, None]
    padded = []
    for column in _LISTS:
        if not np.array_equal(_counts(rows, column), counts):
            raise _refused(column, f"as many values as {_LISTS[0]}", "another number")
        values = np.zeros(held.shape, np.int32)
        values[held] = _flat(rows, column)
        padded.append(values)
    return counts, padded


def _require_in_order(
    starts: NDArray[np.int32], ends: NDArray[np.int32], counts: NDArray[np.int64], row_tokens: int
) -> None:
    held = np.arange(starts.shape[1]) < counts[:, None]
    # A token that ends one chunk may begin the next; more than that they never share.
    follows = (starts[:, 1:] > starts[:, :-1]) & (starts[:, 1:] >= ends[:, :-1] - 1)
    if not (follows | ~held[:, 1:]).all() or not ((ends > starts) | ~held).all() or ends.max(initial=0) > row_tokens:
        raise _refused(
            "chunks", f"stretches of the {row_tokens} tokens, one behind the other but for one token", "otherwise"
        )
    if starts.min(initial=0) < 0:
        raise _refused("chunks", "starts from 0", str(starts.min()))


def _edges(rows: pa.Table, column: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    edges = rows[column].combine_chunks().flatten()
    source, target = (edges.field(i).to_numpy(zero_copy_only=False).astype(np.int64) for i in range(2))
    row = np.repeat(np.arange(rows.num_rows), _counts(rows, column))
    outside = (np.maximum(source, target) >= counts[row]) | (np.minimum(source, target) < 0)
    if outside.any():
        place = int(outside.argmax())
        found = f"{source[place]} to {target[place]} in a row of {counts[row[place]]}"
        raise _refused(column, "edges between chunks of the row", found)
    return np.stack([row, source, target], axis=1)


def _counts(rows: pa.Table, column: str) -> NDArray[np.int64]:
    offsets: NDArray[np.int32] = rows[column].combine_chunks().offsets.to_numpy()
    return np.diff(offsets).astype(np.int64)


def _flat(rows: pa.Table, column: str) -> NDArray[Any]:
    values: NDArray[Any] = rows[column].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return values


def _refused(what: str, expected: str, found: str) -> SchemaViolation:
    return SchemaViolation(what, expected=expected, found=found, do="rerun packed_rows")
