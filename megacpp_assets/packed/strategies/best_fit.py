"""Best-fit decreasing: packs whole documents into rows with a limit of tokens and a limit of chunks.

Lengths and chunk counts come in, a plan of rows comes out. Every document is in exactly one row, and none is cut. The
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
    """Place each document, longest first, into the row with the least free space that still fits it and its chunks.

    If chunks are scarcer than tokens, the number of chunks is used instead of the length. `seed` decides the order of
    equally long documents and the order of the rows. Raises `SpecError` if `limits` exceed what the native code can
    represent.
    """
    if not 0 < limits.tokens < 1 << _LENGTH_BITS or len(lengths) >= 1 << _INDEX_BITS:
        raise SpecError("packing", expected="rows below 131,072 tokens, fewer than 2^32 documents", found=limits)
    return RowPlan(*plan(lengths, chunks, limits.tokens, limits.chunks, seed % (1 << _SEED_BITS)))
