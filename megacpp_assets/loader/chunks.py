"""Chunks of packed rows at the fixed width max(128, T // 32), and how they relate, from the files beside a prefix.

All of it is numpy on the host: nothing here may run inside a compiled step. Row r of a Megatron split is row r of the
packed rows behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import CATEGORY_ID, fixed_max_chunks
from megacpp_assets.megatron.chunk_sidecars import EDGES, VALUES, ChunkLists

RELATIONS: Final = (
    "same_chunk", "caller_to_callee", "callee_to_caller", "type_dependency", "type_dependent", "same_dep_level",
    "adjacent_dep_level", "preamble_to_code", "code_to_preamble",
)  # fmt: skip
"""By the second axis of a relation mask."""

_PREAMBLE: Final = CATEGORY_ID["preamble"]


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


def chunk_batch(lists: ChunkLists, doc_ids: NDArray[np.int32]) -> ChunkBatch:
    """The chunks of rows whose `doc_ids` are (B, T).

    `SchemaViolation` for more chunks than slots, chunks that are empty, overlap or leave the row, and edges between
    chunks that are not there.
    """
    row_tokens = doc_ids.shape[1]
    counts, slots = np.diff(lists.offsets), fixed_max_chunks(row_tokens)
    if counts.max(initial=0) > slots:
        raise _refused("row", f"at most {slots} chunks", str(counts.max()))
    held = np.arange(slots) < counts[:, None]
    starts, ends, kinds, levels = (_padded(lists.values[part], held) for part in VALUES)
    _require_in_order(starts, ends, held, row_tokens)
    documents = np.where(held, np.take_along_axis(doc_ids, starts, axis=1), np.int32(-1))
    edges = [_edges(part, *lists.edges[part], counts) for part in EDGES]
    return ChunkBatch(row_tokens, starts, ends, kinds, levels, documents, *edges)


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


def _padded(values: NDArray[Any], held: NDArray[np.bool_]) -> NDArray[np.int32]:
    """(B, C): the values of each row's chunks in its first slots."""
    padded = np.zeros(held.shape, np.int32)
    padded[held] = values
    return padded


def _require_in_order(
    starts: NDArray[np.int32], ends: NDArray[np.int32], held: NDArray[np.bool_], row_tokens: int
) -> None:
    # A token that ends one chunk may begin the next; more than that they never share.
    follows = (starts[:, 1:] > starts[:, :-1]) & (starts[:, 1:] >= ends[:, :-1] - 1)
    if not (follows | ~held[:, 1:]).all() or not ((ends > starts) | ~held).all() or ends.max(initial=0) > row_tokens:
        raise _refused(
            "chunks", f"stretches of the {row_tokens} tokens, one behind the other but for one token", "otherwise"
        )
    if starts.min(initial=0) < 0:
        raise _refused("chunks", "starts from 0", str(starts.min()))


def _edges(part: str, offsets: NDArray[np.int64], pairs: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    row = np.repeat(np.arange(len(counts)), np.diff(offsets))
    outside = (pairs >= counts[row][:, None]).any(axis=1)
    if outside.any():
        place = int(outside.argmax())
        found = f"{pairs[place, 0]} to {pairs[place, 1]} in a row of {counts[row[place]]}"
        raise _refused(part, "edges between chunks of the row", found)
    return np.column_stack([row, pairs]).astype(np.int64)


def _refused(what: str, expected: str, found: str) -> SchemaViolation:
    return SchemaViolation(what, expected=expected, found=found, do="rerun megatron_bin_idx")
