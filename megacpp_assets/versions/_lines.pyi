import numpy as np
from numpy.typing import NDArray

def line_starts(text: bytes) -> NDArray[np.int64]: ...
def changed_blocks(
    pre: bytes, pre_starts: NDArray[np.int64], post: bytes, post_starts: NDArray[np.int64]
) -> NDArray[np.int64]: ...
