"""Derives the document columns of a batch from its token ids, on the host, outside of compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.tokens.specials import BOS_ID, PAD_ID
from megacpp_assets.megatron import _rows


class RowDocuments(NamedTuple):
    """Columns derived from the token ids of B rows of T tokens. Shape (B, T) int32 unless stated otherwise.

    `target_ids` has the next token. `loss_mask` (bool) is True if the next token belongs to the same document.
    `doc_ids` is cumsum(BOS) - 1 within the row; padding has the id of the last document. `segment_ids`, for splash
    attention, numbers documents from 1, and padding is 0. `cu_seqlens` (S + 1,) has the starts of sequences in the
    concatenated rows, from 0 to B x T. A sequence is a document or the padding of a row, so S differs between batches.
    """

    target_ids: NDArray[np.int32]
    loss_mask: NDArray[np.bool_]
    doc_ids: NDArray[np.int32]
    segment_ids: NDArray[np.int32]
    cu_seqlens: NDArray[np.int32]


def row_documents(input_ids: NDArray[np.int32], valid_token_count: NDArray[np.int32]) -> RowDocuments:
    """Return the columns derived from `input_ids` (B, T).

    `valid_token_count` (B,) has each row's tokens without padding.
    """
    targets, doc_ids, segments = (np.empty_like(input_ids) for _ in range(3))
    mask = np.empty(input_ids.shape, np.bool_)
    begins = _rows.documents(input_ids, valid_token_count, BOS_ID, PAD_ID, targets, mask, doc_ids, segments)
    return RowDocuments(targets, mask, doc_ids, segments, begins)
