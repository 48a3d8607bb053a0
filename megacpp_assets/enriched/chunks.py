"""Converts chunks from characters to tokens: token spans of chunks, and edges between the reordered chunks.

A chunk spans the first to the last token that overlaps its characters. Chunks of a document are sorted stably by first
token, and their starts strictly increase. If several chunks begin in the same token, the first one keeps it and the
next one begins one token later. A chunk without a token of its own is lost, together with its edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import STRUCTURE_CATEGORIES
from megacpp_assets.enriched.spans import Spans
from megacpp_assets.storage.ragged import Ragged, offsets_from, struct_field

_UNKNOWN_KIND = 0
_LARGEST_LEVEL = int(np.iinfo(np.uint16).max)
LOST = -1


@dataclass(frozen=True, slots=True)
class TokenChunks:
    """The chunks of a batch as token spans. Document i has the chunks [offsets[i], offsets[i + 1]), starts increase.

    `index_of` has, for each input chunk, the index of its token chunk within the document, or `LOST`. `input_offsets`
    has the boundaries of documents among the input chunks.
    """

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    dep_levels: NDArray[np.uint16]
    index_of: NDArray[np.int64]
    input_offsets: NDArray[np.int64]


def token_chunks(chunks: Ragged, spans: Spans) -> TokenChunks:
    """Convert chunk boundaries (schemas.CHUNK_BOUNDARY) to token ranges relative to their document's first token.

    Raises `SchemaViolation` if a chunk overlaps no token, or its level is too large.
    """
    owner = chunks.owner
    starts, ends = _overlap(chunks, owner, spans)
    order = np.lexsort((starts, owner))
    starts, ends, owner = starts[order], ends[order], owner[order]
    starts, kept = _strictly_increasing(starts, ends, owner)
    offsets = offsets_from(np.bincount(owner[kept], minlength=len(chunks.offsets) - 1))
    index_of = np.full(len(order), LOST, dtype=np.int64)
    index_of[order[kept]] = np.arange(len(kept)) - offsets[:-1][owner[kept]]
    chosen = order[kept]
    return TokenChunks(
        offsets=offsets,
        starts=starts[kept],
        ends=ends[kept],
        kinds=_kinds(chunks.values)[chosen],
        dep_levels=_levels(chunks.values)[chosen],
        index_of=index_of,
        input_offsets=chunks.offsets,
    )


def _overlap(chunks: Ragged, owner: NDArray[np.int64], spans: Spans) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    begin, end = (struct_field(chunks.values, name).astype(np.int64) for name in ("char_offset", "char_end"))
    _require((0 <= begin) & (begin < end), "characters 0 <= char_offset < char_end", begin, end)
    # One sorted axis for all documents: each document has its own range, which is longer than any offset in it. So one
    # binary search serves the whole batch.
    stretch = int(max(spans.ends.max(initial=0), end.max(initial=0))) + 1
    base = spans.repeat(np.arange(len(spans.offsets) - 1) * stretch)
    first = np.searchsorted(base + spans.ends, owner * stretch + begin, side="right") - spans.offsets[owner]
    last = np.searchsorted(base + spans.starts, owner * stretch + end, side="left") - spans.offsets[owner]
    _require(first < last, "a token that overlaps the chunk", begin, end)
    return first, last


def _strictly_increasing(
    starts: NDArray[np.int64], ends: NDArray[np.int64], owner: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (starts by the rule of this module, indices of the chunks that are not lost)."""
    shared = (np.diff(starts) == 0) & (np.diff(owner) == 0)
    if not shared.any():
        return starts, np.arange(len(starts))
    starts, kept = starts.copy(), np.ones(len(starts), dtype=np.bool_)
    for document in np.unique(owner[1:][shared]):
        free = 0
        for index in range(*np.searchsorted(owner, [document, document + 1])):
            starts[index] = max(starts[index], free)
            kept[index] = starts[index] < ends[index]
            free = starts[index] + 1 if kept[index] else free
    return starts, np.flatnonzero(kept)


def _kinds(values: pa.StructArray) -> NDArray[np.uint8]:
    """Return the structure category of each chunk; an unknown kind is `other`."""
    known = pa.array(
        STRUCTURE_CATEGORIES
    )  # not at import: Arrow would load pandas in every process that lists the stages
    found = pc.index_in(pc.utf8_lower(values.field("kind")), value_set=known)
    return np.asarray(pc.fill_null(found, _UNKNOWN_KIND).to_numpy(zero_copy_only=False)).astype(np.uint8)


def _levels(values: pa.StructArray) -> NDArray[np.uint16]:
    levels = struct_field(values, "dep_level").astype(np.int64)
    _require((0 <= levels) & (levels <= _LARGEST_LEVEL), f"a level of 0 to {_LARGEST_LEVEL}", levels)
    return levels.astype(np.uint16)


def token_dep_levels(chunks: TokenChunks, spans: Spans) -> NDArray[np.uint16]:
    """Return, per token, the level of the last chunk that starts at or before it; 0 before the first chunk."""
    documents = spans.offsets[:-1]
    places = np.concatenate([documents, chunks.starts + np.repeat(documents, np.diff(chunks.offsets))])
    levels = np.concatenate([np.zeros(len(documents), dtype=np.uint16), chunks.dep_levels])
    order = np.argsort(places, kind="stable")  # a document begins before the chunk that begins with it
    return np.repeat(levels[order], np.diff(places[order], append=len(spans.starts)))


def token_edges(edges: Ragged, ends: tuple[str, str], chunks: TokenChunks) -> Ragged:
    """Convert edges between input chunks to an (n, 2) uint16 array of (from, to) indices of token chunks.

    `ends` names the struct fields that become `from` and `to`. Edges of a lost chunk are dropped. Raises
    `SchemaViolation` if an end of an edge is not a chunk of its document.
    """
    owner = edges.owner
    count = np.diff(chunks.input_offsets)[owner]
    sides = []
    for name in ends:
        index = struct_field(edges.values, name).astype(np.int64)
        _require((0 <= index) & (index < count), f"{name} below the document's chunk count", index, count)
        sides.append(chunks.index_of[chunks.input_offsets[owner] + index])
    pairs = np.stack(sides, axis=1)
    kept = (pairs != LOST).all(axis=1)
    offsets = offsets_from(np.bincount(owner[kept], minlength=len(edges.offsets) - 1))
    return Ragged(offsets, pairs[kept].astype(np.uint16))


def _require(holds: NDArray[np.bool_], expected: str, *values: NDArray[Any]) -> None:
    if not holds.all():
        first = int(np.flatnonzero(~holds)[0])
        raise SchemaViolation(
            f"chunk or edge {first} of a batch",
            expected=expected,
            found=", ".join(str(value[first]) for value in values),
        )
