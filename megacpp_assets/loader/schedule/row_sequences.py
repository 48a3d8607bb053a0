"""Cuts packed rows into the sequences that a scheduler moves, one for each document, and makes rows of microbatches."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from megacpp_assets.contract.columns import (
    CHANGE_CHANNELS,
    PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES,
    ROLES,
    SIDE_CHANNELS,
    STRUCTURE_CHANNELS,
    SYMBOL_CHANNELS,
)
from megacpp_assets.contract.names import fixed_max_chunks
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.tokens.specials import PAD_ID
from megacpp_assets.loader.documents import row_documents
from megacpp_assets.loader.rows import PackedRows, RowBatch
from megacpp_assets.loader.schedule.data_schedule_utils import Sample
from megacpp_assets.loader.schedule.packed_batch import PackedBatch
from megacpp_assets.loader.schedule.row_chunks import CHUNK_TABLES, CHUNKS, chunk_tables, row_chunks

PLATFORMS: Final = "platforms"
"""The table of a document's platforms, which has one row."""


def channels_of(rows: PackedRows) -> dict[str, torch.dtype]:
    """Return the columns that travel with the tokens, and their type: the channels of `rows` that are open."""
    return dict.fromkeys(rows.channels, torch.int32)


def tables_of(rows: PackedRows) -> dict[str, int]:
    """Return the tables of documents of `rows` by their number of columns: chunks and platforms, if they are open."""
    chunks = CHUNK_TABLES if rows.chunk_files is not None else {}
    return chunks | ({PLATFORMS: MAX_PLATFORM_IDS} if rows.platforms is not None else {})


def limits_of(rows: PackedRows) -> dict[str, int]:
    """Return the most rows of these tables that a row of tokens has slots for."""
    return {name: fixed_max_chunks(rows.row_tokens) for name in (CHUNKS, PLATFORMS) if name in tables_of(rows)}


def sequences_of(batch: RowBatch) -> list[Sample]:
    """Return the documents of `batch` in order: 1-D tensors with the keys of a sequence, channels, and tables.

    Padding belongs to no sequence. The channels are all that the batch has, and the tables are of its chunks and
    platforms, if it has them. Symbols become int32 with the same bits, because few operations of torch know uint32.
    """
    columns = {"tokens": batch.input_ids, "labels": batch.target_ids, ROLES: batch.roles}
    columns |= {**batch.structure, **batch.changes}
    columns |= {name: values.view(np.int32) for name, values in batch.symbols.items()}
    flat = {name: torch.from_numpy(values.reshape(-1)) for name, values in columns.items()}
    flat["loss_mask"] = torch.from_numpy(batch.loss_mask.reshape(-1)).float()
    begins = batch.cu_seqlens[:-1]
    real = batch.segment_ids.reshape(-1)[begins] > 0
    sequences: list[dict[str, Tensor]] = [
        {name: values[begin:end] for name, values in flat.items()} | {"position_ids": torch.arange(end - begin)}
        for begin, end in zip(begins[real].tolist(), batch.cu_seqlens[1:][real].tolist(), strict=True)
    ]
    first = np.concatenate([[0], np.cumsum(batch.doc_ids[:, -1] + 1)])
    if batch.chunks is not None:
        tables = chunk_tables(batch.chunks, begins[real] % batch.input_ids.shape[1], first)
        sequences = [sequence | more for sequence, more in zip(sequences, tables, strict=True)]
    if batch.platforms is not None:
        for sequence, row, number in zip(sequences, *_places(first), strict=True):
            sequence[PLATFORMS] = torch.from_numpy(batch.platforms[row, number : number + 1])
    return list(sequences)


def _places(first: NDArray[np.integer]) -> tuple[list[int], list[int]]:
    """Return the row of each document, and its number within the row."""
    counts = np.diff(first)
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows.tolist(), (np.arange(len(rows)) - first[rows]).tolist()


def row_of(microbatch: PackedBatch, row_tokens: int) -> RowBatch:
    """Return a microbatch of at most `row_tokens` tokens as one padded row, (1, T). Every document begins with BOS."""
    assert microbatch.tokens is not None
    fills = {name: PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[SIDE_CHANNELS[name]] for name in microbatch.channels}
    columns = {name: _padded(microbatch.channels[name], row_tokens, fill) for name, fill in fills.items()}
    input_ids = _padded(microbatch.tokens, row_tokens, PAD_ID)
    valid = np.array([microbatch.tokens.shape[1]], np.int32)
    tables = microbatch.tables
    begins = microbatch.packed_seq_params.cu_seqlens_q[:-1].cpu().numpy()
    return RowBatch(
        input_ids,
        *row_documents(input_ids, valid),
        valid,
        {name: columns[name] for name in STRUCTURE_CHANNELS if name in columns},
        columns[ROLES],
        {name: columns[name].view(np.uint32) for name in SYMBOL_CHANNELS if name in columns},
        {name: columns[name] for name in CHANGE_CHANNELS if name in columns},
        chunks=row_chunks(tables, begins, row_tokens) if CHUNKS in tables else None,
        platforms=_row_platforms(tables[PLATFORMS].values, row_tokens) if PLATFORMS in tables else None,
    )


def _row_platforms(values: Tensor, row_tokens: int) -> NDArray[np.int32]:
    platforms = np.zeros((1, fixed_max_chunks(row_tokens), MAX_PLATFORM_IDS), np.int32)
    platforms[0, : len(values)] = values.cpu().numpy()
    return platforms


def _padded(values: Tensor, row_tokens: int, fill: int) -> NDArray[np.int32]:
    row = np.full((1, row_tokens), fill, np.int32)
    row[:, : values.shape[1]] = values.cpu().numpy()
    return row
