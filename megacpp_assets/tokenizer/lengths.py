"""The number of text bytes of each token id."""

from __future__ import annotations

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.contract.specials import SPACE_ID
from megacpp_assets.tokenizer.byte_level import is_spelled


def byte_lengths(tokenizer_json: bytes) -> NDArray[np.int64]:
    """Return the bytes by id, from the file of a tokenizer; 0 for special tokens, which no text has."""
    vocabulary: dict[str, int] = orjson.loads(tokenizer_json)["model"]["vocab"]
    lengths = np.zeros(max(vocabulary.values(), default=-1) + 1, dtype=np.int64)
    for key, index in vocabulary.items():
        if index >= SPACE_ID:
            # A key has one character for each byte.
            lengths[index] = len(key) if is_spelled(key) else len(key.encode())
    return lengths
