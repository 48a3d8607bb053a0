"""Documents of a batch as a model and its kernels want them, derived on the host, outside what is compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.specials import BOS_ID, PAD_ID
from megacpp_assets.megatron import _rows


class RowDocuments(NamedTuple):
    """What follows from the ids of B rows of T tokens: (B, T) int32 all but the mask, which is bool, and `cu_seqlens`.

    `target_ids` is the next token. `loss_mask` says that the next token is of the same document. `doc_ids` is
    cumsum(BOS) - 1 of the row, which padding keeps. `segment_ids`, for splash attention, count documents from 1,
    and pads are 0 and so attend to none. `cu_seqlens`, (S + 1,) int32, says where sequences of the rows laid end to end
    begin, from 0 to B x T: a sequence is a document, or the pads of a row, so S changes from batch to batch.
    """

    target_ids: NDArray[np.int32]
    loss_mask: NDArray[np.bool_]
    doc_ids: NDArray[np.int32]
    segment_ids: NDArray[np.int32]
    cu_seqlens: NDArray[np.int32]


def row_documents(input_ids: NDArray[np.int32], valid_token_count: NDArray[np.int32]) -> RowDocuments:
    """What follows from rows of ids, the first `valid_token_count` (B,) int32 of which are no pads."""
    targets, doc_ids, segments = (np.empty_like(input_ids) for _ in range(3))
    mask = np.empty(input_ids.shape, np.bool_)
    begins = _rows.documents(input_ids, valid_token_count, BOS_ID, PAD_ID, targets, mask, doc_ids, segments)
    return RowDocuments(targets, mask, doc_ids, segments, begins)
