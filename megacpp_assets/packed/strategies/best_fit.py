"""Best-fit decreasing of whole documents into rows, limited in tokens and in chunks.

Lengths and chunk counts come in, a plan of rows goes out; every document is in exactly one row and none is cut. The
loop over documents is native code (native/packing).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.packed.plan import RowLimits, RowPlan
from megacpp_assets.packed.strategies._best_fit import plan

_LENGTH_BITS = 17
_INDEX_BITS = 32
_SEED_BITS = 64


def best_fit(lengths: NDArray[np.int64], chunks: NDArray[np.int64], limits: RowLimits, seed: int) -> RowPlan:
    """Each document, longest first, goes to the row with the least room that still holds it and its chunks; which of
    several equally long documents is taken first, and the order of the rows, follow `seed`. Where chunks are scarcer
    than tokens, chunks take the place of length.
    """
    if not 0 < limits.tokens < 1 << _LENGTH_BITS or len(lengths) >= 1 << _INDEX_BITS:
        raise SpecError("packing", expected="rows below 131,072 tokens, fewer than 2^32 documents", found=limits)
    return RowPlan(*plan(lengths, chunks, limits.tokens, limits.chunks, seed % (1 << _SEED_BITS)))
