"""Rows out of spooled documents (native/gather). `ValueError` for bounds that contradict the arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def rows(
    first: NDArray[Any],
    second: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    offsets: NDArray[np.int64],
    fill: int,
    out: NDArray[Any],
) -> None:
    """Write documents offsets[r] to offsets[r + 1] into row r of `out`, and `fill` behind them. Document i has the
    values starts[i] to ends[i] of `first` with `second` behind it, all of one of the two."""

def documents(
    ids: NDArray[np.int32],
    valid: NDArray[np.int64],
    bos: int,
    pad: int,
    targets: NDArray[np.int32],
    mask: NDArray[np.bool_],
    numbers: NDArray[np.int32],
) -> None:
    """Write what follows from (rows, T) ids, `valid` of which are no pads: the next id, whether it is of the same
    document, and the number of its document, which pads keep."""
