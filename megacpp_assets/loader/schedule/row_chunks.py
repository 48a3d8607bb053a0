"""Chunks of packed rows as tables of their documents, and chunks of a row from the tables of its documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import fixed_max_chunks
from megacpp_assets.loader.chunks import ChunkBatch
from megacpp_assets.loader.schedule.tables import PackedTable

CHUNKS: Final = "chunks"
"""The table of a document's chunks: first token and token after the last within the document, kind, and dependency
level."""
_CALLS, _TYPES = "call_edges", "type_edges"
CHUNK_TABLES: Final = {CHUNKS: 4, _CALLS: 2, _TYPES: 2}
"""Tables of a document by their number of columns. Edges join chunks by their number within the document."""

Integers = NDArray[np.signedinteger]


def chunk_tables(chunks: ChunkBatch, begins: Integers, first: Integers) -> list[dict[str, Tensor]]:
    """Return the `CHUNK_TABLES` of each document of a batch.

    `begins` (D,) has the place of each document within its row, and `first` (B + 1,) the number of each row's first
    document. An edge between documents is left out, because it relates no chunks. Raises `SchemaViolation` if a chunk
    begins before its document.
    """
    rows, slots = np.nonzero(chunks.valid)
    document = first[rows] + chunks.documents[rows, slots]
    spans = np.stack([chunks.starts[rows, slots], chunks.ends[rows, slots]]) - begins[document]
    if spans.min(initial=0) < 0:
        raise SchemaViolation("chunks", expected="chunks within their documents", found=spans.min())
    table = np.stack([*spans, chunks.kinds[rows, slots], chunks.dep_levels[rows, slots]], axis=1)
    tables = {CHUNKS: _by_document(table, document, len(begins))}
    number = np.zeros(chunks.valid.shape, np.int64)
    number[rows, slots] = np.arange(len(rows)) - np.searchsorted(document, document)
    for name, edges in ((_CALLS, chunks.calls), (_TYPES, chunks.types)):
        row, *ends = edges.T
        source, target = (chunks.documents[row, end] for end in ends)
        inside = source == target
        numbers = np.stack([number[row, end] for end in ends], axis=1)
        tables[name] = _by_document(numbers[inside], (first[row] + source)[inside], len(begins))
    return [dict(zip(tables, each, strict=True)) for each in zip(*tables.values(), strict=True)]


def _by_document(table: Integers, document: Integers, count: int) -> list[Tensor]:
    order = np.argsort(document, kind="stable")
    ends = np.cumsum(np.bincount(document, minlength=count))
    return [torch.from_numpy(part) for part in np.split(table[order].astype(np.int32), ends[:-1])]


def row_chunks(tables: Mapping[str, PackedTable], begins: Integers, row_tokens: int) -> ChunkBatch:
    """Return the chunks of one row whose documents begin at `begins` (D,). Raises `IndexError` if slots are too few."""
    values, first = _arrays(tables[CHUNKS])
    count, documents = len(values), np.repeat(np.arange(len(begins)), np.diff(first))
    slots = np.zeros((5, 1, fixed_max_chunks(row_tokens)), np.int32)
    slots[4] = -1
    shifts = np.zeros_like(values)
    shifts[:, :2] = begins[documents, None]
    slots[:4, 0, :count] = (values + shifts).T
    slots[4, 0, :count] = documents
    edges = []
    for name in (_CALLS, _TYPES):
        ends, bounds = _arrays(tables[name])
        ends += np.repeat(first[:-1], np.diff(bounds))[:, None]
        edges.append(np.concatenate([np.zeros((len(ends), 1), np.int64), ends], axis=1))
    return ChunkBatch(row_tokens, slots, *edges)


def _arrays(table: PackedTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return table.values.cpu().numpy().astype(np.int64), table.cu_rows.cpu().numpy().astype(np.int64)
