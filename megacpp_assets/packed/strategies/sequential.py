"""Sequential: each document, in source order, goes into the current row if it fits, else into a new row.

The documents of a row are neighbours in the source. The price is padding: rows are 79 % full, with best fit 99.9 %.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.packed.plan import RowLimits, RowPlan


def sequential(lengths: NDArray[np.int64], chunks: NDArray[np.int64], limits: RowLimits, _seed: int) -> RowPlan:
    """Place documents in source order. Documents and rows keep their order; the seed is not used."""
    tokens, parts = (np.concatenate([[0], np.cumsum(amounts, dtype=np.int64)]) for amounts in (lengths, chunks))
    offsets = [0]
    while offsets[-1] < len(lengths):
        first = offsets[-1]
        # The running sums are searched for the last document that still fits, once for tokens and once for chunks.
        ends = (
            np.searchsorted(sums, sums[first] + limit, side="right") - 1
            for sums, limit in ((tokens, limits.tokens), (parts, limits.chunks))
        )
        offsets.append(int(min(ends)))
    return RowPlan(np.arange(len(lengths)), np.array(offsets, dtype=np.int64))
