import numpy as np
from numpy.typing import NDArray

def plan(
    tokens: NDArray[np.int64], chunks: NDArray[np.int64], most_tokens: int, most_chunks: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
