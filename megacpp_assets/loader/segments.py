"""Documents of a batch as attention kernels want them, derived on the host, outside what is compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def segment_ids(doc_ids: NDArray[np.int32], valid_token_count: NDArray[np.int32]) -> NDArray[np.int32]:
    """(B, T) for splash attention: documents of a row count from 1, pads are 0 and so attend to no document."""
    changes = np.zeros(doc_ids.shape, np.int32)
    changes[:, 1:] = doc_ids[:, 1:] != doc_ids[:, :-1]
    numbers = np.cumsum(changes, axis=1, dtype=np.int32) + 1
    return np.where(np.arange(doc_ids.shape[1]) < valid_token_count[:, None], numbers, 0).astype(np.int32)


def cu_seqlens(doc_ids: NDArray[np.int32], valid_token_count: NDArray[np.int32]) -> NDArray[np.int32]:
    """Where sequences of the rows laid end to end begin, shape (S + 1,): from 0 to B x T.

    A sequence is a document, or the pads of a row. S changes from batch to batch, as varlen kernels take it.
    """
    segments = segment_ids(doc_ids, valid_token_count)
    begins = np.ones(segments.shape, np.bool_)
    begins[:, 1:] = segments[:, 1:] != segments[:, :-1]
    return np.append(np.flatnonzero(begins), segments.size).astype(np.int32)
