"""Reads the chunks of packed rows from the sidecars of a prefix, with a fixed number of slots, max(128, T // 32).

It also computes the relations between chunks. Everything runs on the host; nothing here may run inside a compiled step.
Row r of a Megatron split is row r of the packed rows that it was made from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.megatron_files import CHUNK_ROWS
from megacpp_assets.contract.names import CATEGORY_ID, fixed_max_chunks
from megacpp_assets.megatron import _rows
from megacpp_assets.megatron.sidecars.chunks import EDGES, VALUES, ChunkFiles

RELATIONS: Final = (
    "same_chunk", "caller_to_callee", "callee_to_caller", "type_dependency", "type_dependent", "same_dep_level",
    "adjacent_dep_level", "preamble_to_code", "code_to_preamble",
)  # fmt: skip
"""The names of the relations, in the order of the second axis of a relation mask."""
MESSAGES: Final = slice(1, 7)
"""The relations that carry messages: calls and types in both directions, same level, adjacent level."""
NEIGHBOURS: Final = 16
"""A chunk receives messages from at most so many others, the first ones of its document."""

_PREAMBLE: Final = CATEGORY_ID["preamble"]
_STARTS, _ENDS, _KINDS, _DEP_LEVELS, _DOCUMENTS, _PARTS = range(6)


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """The chunks of B rows in C slots. An empty slot has 0 everywhere, so `ends == starts`.

    `slots` (5, B, C) int32 has, for each chunk, its tokens [start, end) within the row, its kind, its dependency level
    and the number of its document within the row, -1 for an empty slot. `calls` and `types` (E, 3) int64 have one edge
    per line: (row of the batch, chunk that calls or uses, chunk that is called or used).
    """

    row_tokens: int
    slots: NDArray[np.int32]
    calls: NDArray[np.int64]
    types: NDArray[np.int64]

    @property
    def starts(self) -> NDArray[np.int32]:
        """The first token of each chunk, (B, C)."""
        return np.asarray(self.slots[_STARTS])

    @property
    def ends(self) -> NDArray[np.int32]:
        """The token after each chunk, (B, C)."""
        return np.asarray(self.slots[_ENDS])

    @property
    def kinds(self) -> NDArray[np.int32]:
        """The category of each chunk, (B, C)."""
        return np.asarray(self.slots[_KINDS])

    @property
    def dep_levels(self) -> NDArray[np.int32]:
        """The dependency level of each chunk, (B, C)."""
        return np.asarray(self.slots[_DEP_LEVELS])

    @property
    def documents(self) -> NDArray[np.int32]:
        """The document in which each chunk begins, (B, C)."""
        return np.asarray(self.slots[_DOCUMENTS])

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Mask of the slots that have a chunk, (B, C)."""
        return np.asarray(self.ends > self.starts)


def chunk_batch(files: ChunkFiles, rows: NDArray[np.int64], doc_ids: NDArray[np.int32]) -> ChunkBatch:
    """Return the chunks of the rows with the numbers `rows`, whose document ids are `doc_ids` (B, T).

    Raises:
        IndexError: a row does not exist.
        SchemaViolation: a row has more chunks than slots; a chunk is empty, overlaps another or leaves the row; an edge
            refers to a chunk that does not exist.
    """
    parts, firsts = files.parts, files.parts[CHUNK_ROWS]
    batch, row_tokens = doc_ids.shape
    slots = np.empty((_PARTS, batch, fixed_max_chunks(row_tokens)), np.int32)
    starts, ends, kinds, levels = (parts[part] for part in VALUES)
    wrong = _rows.slots(firsts, starts, ends, kinds, levels, rows, doc_ids, slots)
    if wrong >= 0:
        count = _count(firsts, rows[wrong])
        if count > slots.shape[2]:
            raise _violation("row", f"at most {slots.shape[2]} chunks", str(count))
        expected = f"spans of the {row_tokens} tokens in ascending order that share at most one token"
        raise _violation("chunks", expected, "spans that break the rule")
    edges = [_edges(part, files, rows) for part in EDGES]
    return ChunkBatch(row_tokens, slots, *edges)


def token_chunk_ids(chunks: ChunkBatch) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return (ids, valid), both (B, T): the chunk of each token, and whether the token is in a chunk.

    A token in two chunks has the later one. The id is 0 if `valid` is False.
    """
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
    """Return a mask (B, R, C, C): whether chunk i has relation r to chunk j at [b, r, i, j]; R as in `RELATIONS`.

    Only chunks of the same document are related, because the documents of a row come from different repositories.
    """
    batch, slots = chunks.starts.shape
    mask = np.zeros((batch, len(RELATIONS), slots, slots), np.bool_)
    valid = chunks.valid
    same_document = (
        (chunks.documents[:, :, None] == chunks.documents[:, None, :]) & valid[:, :, None] & valid[:, None, :]
    )
    mask[:, 0] = same_document & np.eye(slots, dtype=np.bool_)
    for forward, edges in ((1, chunks.calls), (3, chunks.types)):
        row, source, target = edges.T
        mask[row, forward, source, target] = True
        mask[row, forward + 1, target, source] = True
    mask[:, 1:5] &= same_document[:, None]
    distance = np.abs(chunks.dep_levels[:, :, None] - chunks.dep_levels[:, None, :])
    mask[:, 5] = same_document & (distance == 0)
    mask[:, 6] = same_document & (distance == 1)
    preamble = chunks.kinds == _PREAMBLE
    mask[:, 7] = same_document & preamble[:, :, None] & ~preamble[:, None, :]
    mask[:, 8] = same_document & ~preamble[:, :, None] & preamble[:, None, :]
    return mask


def _edges(part: str, files: ChunkFiles, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    chunks, firsts = files.parts[CHUNK_ROWS], files.parts[f"{part}.{CHUNK_ROWS}"]
    found, wrong = _rows.edges(chunks, firsts, files.parts[part], rows)
    edges: NDArray[np.int64] = found.reshape(-1, 3)
    if wrong >= 0:
        last = f"{edges[-1, 1]} to {edges[-1, 2]}" if len(edges) else "none"
        raise _violation(part, "edges between chunks of the row", f"{last} in a row of {_count(chunks, rows[wrong])}")
    return edges


def _count(firsts: NDArray[np.int64], row: np.int64) -> int:
    return int(firsts[row + 1] - firsts[row])


def _violation(what: str, expected: str, found: str) -> SchemaViolation:
    return SchemaViolation(what, expected=expected, found=found, do="rerun megatron_bin_idx")
