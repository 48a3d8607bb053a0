"""Makes a batch of Megatron's samples, which are cut from a stream of documents wherever T + 1 tokens end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.loader.documents import row_documents
from megacpp_assets.loader.rows import RowBatch


def sample_batch(samples: NDArray[np.integer]) -> RowBatch:
    """Return `samples` (B, T + 1) as rows of T tokens without padding.

    The tokens before the first BOS of a sample form a document of their own. The last token has a loss unless the next
    one begins a document. Samples have no structure, and every token counts as a root's.
    """
    input_ids = np.ascontiguousarray(samples[:, :-1], np.int32)
    rows, tokens = input_ids.shape
    valid = np.full(rows, tokens, np.int32)
    begun = input_ids.copy()
    begun[:, 0] = BOS_ID
    documents = row_documents(begun, valid)
    last = samples[:, -1].astype(np.int32)
    documents.target_ids[:, -1] = last
    documents.loss_mask[:, -1] = last != BOS_ID
    return RowBatch(input_ids, *documents, valid, {}, np.full_like(input_ids, ROOT_ROLE))
