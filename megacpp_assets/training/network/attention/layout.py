"""The positions of documents in a batch of rows: lengths and positions, computed once per batch on the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class DocumentLayout:
    """Rows of a batch cut into stretches. A stretch is one document, or the padding of one row.

    `lengths` are those of the stretches of all rows, in tokens; they sum to B x T. `padding` marks the stretches of
    padding. `positions` (B, T) int64 count tokens from the start of each stretch.
    """

    lengths: tuple[int, ...]
    padding: tuple[bool, ...]
    positions: NDArray[np.int64]


def document_layout(doc_ids: NDArray[np.int32], valid_token_count: NDArray[np.int32]) -> DocumentLayout:
    """Return the layout of rows with `doc_ids` (B, T), of which the first `valid_token_count` (B,) tokens are valid."""
    batch, tokens = doc_ids.shape
    column = np.arange(tokens)
    pad = column >= valid_token_count[:, None]
    start = np.zeros((batch, tokens), dtype=np.bool_)
    start[:, 0] = True
    start[:, 1:] = (doc_ids[:, 1:] != doc_ids[:, :-1]) | (pad[:, 1:] != pad[:, :-1])
    begins = np.flatnonzero(start)
    lengths = np.diff(begins, append=batch * tokens)
    positions = np.maximum.accumulate(np.where(start, column, 0), axis=1)
    return DocumentLayout(
        tuple(lengths.tolist()), tuple(pad.ravel()[begins].tolist()), (column - positions).astype(np.int64)
    )
