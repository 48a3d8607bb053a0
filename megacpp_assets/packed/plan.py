"""Input and output of every packing strategy: the limits of a row, and a plan of rows.

Documents that fit no row are rejected here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import PackOverflow
from megacpp_assets.contract.names import fixed_max_chunks


@dataclass(frozen=True, slots=True)
class RowLimits:
    """The most tokens (T) and chunks of a row. Loader and model use the same limit of chunks."""

    tokens: int
    chunks: int

    @staticmethod
    def of(row_tokens: int) -> RowLimits:
        """Return the limits of rows of `row_tokens` tokens: the chunk cap is max(128, T // 32) (docs/contracts.md)."""
        return RowLimits(row_tokens, fixed_max_chunks(row_tokens))


@dataclass(frozen=True, slots=True)
class RowPlan:
    """Row r has documents[offsets[r]:offsets[r + 1]], ascending. Each document is in exactly one row.

    Shapes: `documents` (documents,), `offsets` (rows + 1,).
    """

    documents: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1


def require_fit(
    lengths: NDArray[np.int64], chunks: NDArray[np.int64], limits: RowLimits, name_of: Callable[[int], str]
) -> None:
    """Raise `PackOverflow` for a document that alone exceeds a limit or has no token.

    `name_of` names it in the error.
    """
    for values, limit, unit in ((lengths, limits.tokens, "tokens"), (chunks, limits.chunks, "chunks")):
        if len(values) and (worst := int(values.argmax())) >= 0 and values[worst] > limit:
            raise PackOverflow(
                name_of(worst),
                expected=f"at most {limit} {unit} in one row",
                found=f"{values[worst]} {unit}",
                do="set packing.overflow to split or file; packing never crops",
            )
    if len(lengths) and lengths.min() < 1:
        raise PackOverflow(name_of(int(lengths.argmin())), expected="at least one token", found="none")
