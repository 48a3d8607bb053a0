import numpy as np
from numpy.typing import NDArray

def shingles(text: str, tokens: int) -> NDArray[np.uint64]: ...
