from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def fingerprints(
    columns: Sequence[NDArray[Any]], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.uint64]: ...
