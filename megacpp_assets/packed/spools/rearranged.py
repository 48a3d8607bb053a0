"""Applies fill-in-the-middle to the documents of a spool: chooses those to rearrange, and rearranges their columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.schemas import ENRICHED, TOKEN_EDGE
from megacpp_assets.packed.spools.fim import ADDED, MARK, Cut, Draw, marks_of, moved_chunks, order_of
from megacpp_assets.packed.spools.spool import (
    CHUNK_GROUP,
    COLUMNS,
    EDGE_FROM,
    EDGE_GROUPS,
    EDGE_TO,
    STRING_GROUPS,
    TOKEN_GROUP,
    Lists,
    Spool,
    joined,
)
from megacpp_assets.packed.spools.spooling import spool_batches
from megacpp_assets.storage.ragged import offsets_from

_BATCH: Final = 1024


def with_rearranged(
    spool: Spool, taken: NDArray[np.int64], draw: Draw, row_tokens: int, directory: Path
) -> tuple[Spool, NDArray[np.int64]]:
    """Return the spool with rearranged documents appended, and a copy of `taken` in which chosen entries refer to
    these.

    An entry of `taken` is the index of a document, ascending. Its epoch is the number of earlier entries with the same
    document, so a document that is taken twice is drawn twice. A document that would no longer fit a row of
    `row_tokens` tokens stays unchanged. `directory` receives the files of the rearranged documents.
    """
    chosen = dict(_cuts(spool, taken, draw, row_tokens))
    if not chosen:
        return spool, taken
    entries, cuts = np.array(list(chosen)), list(chosen.values())
    rearranged = (
        _batch(spool, taken[entries[first : first + _BATCH]], cuts[first : first + _BATCH])
        for first in range(0, len(cuts), _BATCH)
    )
    both = joined(spool, spool_batches(rearranged, directory, "rearranged documents"))
    entered = taken.copy()
    entered[entries] = spool.documents + np.arange(len(entries))
    return both, entered


def _cuts(spool: Spool, taken: NDArray[np.int64], draw: Draw, row_tokens: int) -> Iterator[tuple[int, Cut]]:
    """Yield (entry of `taken`, cut) of each entry that the draw chooses."""
    # `taken` is ascending, so the first entry with the same document is found by bisection.
    epochs = np.arange(len(taken)) - np.searchsorted(taken, taken)
    for first in range(0, len(taken), _BATCH):
        documents = taken[first : first + _BATCH]
        tokens = spool.tokens.lengths(documents)
        starts, ends = (_split(spool.chunks, name, documents) for name in CHUNK_GROUP[:2])
        names = zip(*(spool.strings(name, documents).to_pylist() for name in (c.REPO, c.DOC_ID)), strict=True)
        for place, (repo, doc_id) in enumerate(names):
            if tokens[place] + ADDED > row_tokens:
                continue
            entry, count = first + place, int(tokens[place])
            cut = draw.cut(f"{repo}/{doc_id}", int(epochs[entry]), starts[place], ends[place], count)
            if cut is not None:
                yield entry, cut


def _split(lists: Lists, name: str, documents: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Return the values of a column, one array per document."""
    values = lists.take(name, documents)
    return np.split(values, np.cumsum(lists.lengths(documents))[:-1])


def _batch(spool: Spool, documents: NDArray[np.int64], cuts: list[Cut]) -> pa.RecordBatch:
    """Return the rearranged `documents` with the columns of a spool.

    A mark has 0 in every column except the token ids.
    """
    tokens = spool.tokens.lengths(documents)
    orders = [order_of(cut, int(count)) for cut, count in zip(cuts, tokens, strict=True)]
    columns: dict[str, pa.Array] = {name: spool.strings(name, documents) for name in STRING_GROUPS}
    columns[c.PLATFORM_IDS] = _lists(c.PLATFORM_IDS, _split(spool.groups[c.PLATFORM_IDS], c.PLATFORM_IDS, documents))
    columns |= {name: _token_column(spool, name, documents, orders) for name in TOKEN_GROUP}
    marks = np.concatenate([marks_of(cut) for cut in cuts])
    columns[c.TOKEN_IDS_COLUMN] = _marked(columns[c.TOKEN_IDS_COLUMN], np.concatenate(orders), marks)
    columns |= _graph_columns(spool, documents, cuts)
    return pa.RecordBatch.from_arrays(
        [columns[name] for name in COLUMNS], schema=pa.schema([ENRICHED.field(name) for name in COLUMNS])
    )


def _token_column(
    spool: Spool, name: str, documents: NDArray[np.int64], orders: list[NDArray[np.int64]]
) -> pa.ListArray:
    parts = [
        np.where(order == MARK, 0, values[order]).astype(values.dtype)
        for values, order in zip(_split(spool.tokens, name, documents), orders, strict=True)
    ]
    return _lists(name, parts)


def _marked(ids: pa.ListArray, order: NDArray[np.int64], marks: NDArray[np.uint32]) -> pa.ListArray:
    values = ids.values.to_numpy().copy()
    values[order == MARK] = marks
    return pa.ListArray.from_arrays(ids.offsets, pa.array(values))


def _graph_columns(spool: Spool, documents: NDArray[np.int64], cuts: list[Cut]) -> dict[str, pa.Array]:
    """Return the chunk columns in the new order, and the edge columns.

    A chunk that a border of the middle divides is dropped, together with its edges.
    """
    chunks = {name: _split(spool.chunks, name, documents) for name in CHUNK_GROUP}
    starts, ends, *others = CHUNK_GROUP
    tokens = spool.tokens.lengths(documents)
    moved = [
        moved_chunks(cut, int(count), *spans)
        for cut, count, *spans in zip(cuts, tokens, chunks[starts], chunks[ends], strict=True)
    ]
    columns = {starts: _lists(starts, [each[0] for each in moved]), ends: _lists(ends, [each[1] for each in moved])}
    for name in others:
        kept = [values[each[2]] for values, each in zip(chunks[name], moved, strict=True)]
        columns[name] = _lists(name, kept)
    indices = [each[3] for each in moved]
    return columns | {name: _edges(spool.groups[name], documents, indices) for name in EDGE_GROUPS}


def _edges(edges: Lists, documents: NDArray[np.int64], indices: list[NDArray[np.int64]]) -> pa.ListArray:
    sides = [
        [index[old] for index, old in zip(indices, _split(edges, end, documents), strict=True)]
        for end in (EDGE_FROM, EDGE_TO)
    ]
    # The new index of a dropped chunk is negative.
    kept = [(one >= 0) & (other >= 0) for one, other in zip(*sides, strict=True)]
    offsets = offsets_from(np.array([int(flags.sum()) for flags in kept], dtype=np.int64))
    values = [
        pa.array(np.concatenate([side[flags] for side, flags in zip(parts, kept, strict=True)]).astype(np.uint16))
        for parts in sides
    ]
    return pa.ListArray.from_arrays(
        pa.array(offsets.astype(np.int32)), pa.StructArray.from_arrays(values, fields=list(TOKEN_EDGE))
    )


def _lists(name: str, parts: list[NDArray[Any]]) -> pa.ListArray:
    offsets = offsets_from(np.array([len(part) for part in parts], dtype=np.int64)).astype(np.int32)
    kind = ENRICHED.field(name).type.value_type
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate(parts), type=kind))
