"""Cuts packed rows into the sequences that a scheduler moves, one for each document, and makes rows of microbatches."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from megacpp_assets.contract.columns import (
    PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES,
    ROLES,
    SIDE_CHANNELS,
    STRUCTURE_CHANNELS,
)
from megacpp_assets.contract.specials import PAD_ID
from megacpp_assets.loader.documents import row_documents
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.loader.schedule.data_schedule_utils import Sample
from megacpp_assets.loader.schedule.packed_batch import PackedBatch

CHANNELS: Final = dict.fromkeys((*STRUCTURE_CHANNELS, ROLES), torch.int32)
"""The columns that travel with the tokens, and their type."""


def sequences_of(batch: RowBatch) -> list[Sample]:
    """Return the documents of `batch` in order: 1-D tensors with the keys of a sequence, and `CHANNELS`.

    Padding belongs to no sequence. Chunks and platforms do not travel.
    """
    columns = {"tokens": batch.input_ids, "labels": batch.target_ids, ROLES: batch.roles, **batch.structure}
    flat = {name: torch.from_numpy(values.reshape(-1)) for name, values in columns.items()}
    flat["loss_mask"] = torch.from_numpy(batch.loss_mask.reshape(-1)).float()
    begins = batch.cu_seqlens[:-1]
    real = batch.segment_ids.reshape(-1)[begins] > 0
    return [
        {name: values[begin:end] for name, values in flat.items()} | {"position_ids": torch.arange(end - begin)}
        for begin, end in zip(begins[real].tolist(), batch.cu_seqlens[1:][real].tolist(), strict=True)
    ]


def row_of(microbatch: PackedBatch, row_tokens: int) -> RowBatch:
    """Return a microbatch of at most `row_tokens` tokens as one padded row, (1, T). Every document begins with BOS."""
    assert microbatch.tokens is not None
    fills = {name: PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[SIDE_CHANNELS[name]] for name in CHANNELS}
    columns = {name: _padded(microbatch.channels[name], row_tokens, fill) for name, fill in fills.items()}
    input_ids = _padded(microbatch.tokens, row_tokens, PAD_ID)
    valid = np.array([microbatch.tokens.shape[1]], np.int32)
    roles = columns.pop(ROLES)
    return RowBatch(input_ids, *row_documents(input_ids, valid), valid, columns, roles)


def _padded(values: Tensor, row_tokens: int, fill: int) -> NDArray[np.int32]:
    row = np.full((1, row_tokens), fill, np.int32)
    row[:, : values.shape[1]] = values.cpu().numpy()
    return row
