from typing import Any

import numpy as np
from numpy.typing import NDArray

Bounds = NDArray[np.int64]

def values(
    column: NDArray[Any], first: Bounds, end: Bounds, tokens: Bounds, fill: int, out: NDArray[np.uint32]
) -> int: ...
def runs(
    column: NDArray[Any],
    lengths: NDArray[Any],
    first: Bounds,
    end: Bounds,
    tokens: Bounds,
    fill: int,
    out: NDArray[np.uint32],
) -> int: ...
