"""Copies spooled documents into rows (native/gather). Raises `ValueError` if bounds are outside the arrays."""

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
    """Write documents offsets[r] to offsets[r + 1] into row r of `out`, shape (rows, T), and fill the rest with `fill`.

    Document i has the values [starts[i], ends[i]) of `first` followed by `second`. It is entirely in one of the two.
    """

def documents(
    ids: NDArray[np.int32],
    valid: NDArray[np.int64],
    bos: int,
    pad: int,
    targets: NDArray[np.int32],
    mask: NDArray[np.bool_],
    numbers: NDArray[np.int32],
) -> None:
    """Derive columns from token ids of shape (rows, T), whose first valid[r] tokens of row r are not padding.

    `targets` receives the next id of each token, `mask` whether the next token belongs to the same document, and
    `numbers` the number of the token's document within the row. Padding has the number of the last document.
    """
