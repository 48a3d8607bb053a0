"""Plans rows with the recipe's `packing.strategy`. Documents that fit no row are rejected before a strategy runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.packed.plan import RowLimits, RowPlan, require_fit
from megacpp_assets.packed.strategies.best_fit import best_fit
from megacpp_assets.packed.strategies.first_fit import first_fit
from megacpp_assets.packed.strategies.sequential import sequential

Strategy = Callable[[NDArray[np.int64], NDArray[np.int64], RowLimits, int], RowPlan]
"""(tokens of each document, chunks of each document, limits, seed) -> plan.

`plan_rows` guarantees that each document has 1 to `limits.tokens` tokens and at most `limits.chunks` chunks.
"""

STRATEGIES: Final[dict[str, Strategy]] = {"best_fit": best_fit, "first_fit": first_fit, "sequential": sequential}


def plan_rows(
    strategy: str,
    lengths: NDArray[np.int64],
    chunks: NDArray[np.int64],
    *,
    limits: RowLimits,
    seed: int,
    name_of: Callable[[int], str] = "document {}".format,
) -> RowPlan:
    """Plan the rows of documents of `lengths` tokens and `chunks` chunks, both of shape (documents,).

    Raises `PackOverflow` if a document alone exceeds a limit or has no token, because documents are never cropped.
    `name_of` names the document in the error.
    """
    require_fit(lengths, chunks, limits, name_of)
    return STRATEGIES[strategy](lengths, chunks, limits, seed)
