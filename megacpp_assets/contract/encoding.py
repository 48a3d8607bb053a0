"""What an encoder gives back: flat arrays over all documents of a batch, no Python object per token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of `n` documents, end to end; document `i` is [offsets[i], offsets[i + 1]).

    Each document starts with BOS, whose span is (0, 0). `char_starts` and `char_ends` are half-open character offsets
    into the document's own text; every byte token of a split character carries that whole character's span.
    """

    ids: NDArray[np.uint32]
    char_starts: NDArray[np.int32]
    char_ends: NDArray[np.int32]
    offsets: NDArray[np.int64]


class TextEncoder(Protocol):
    """An exact tokenizer with character spans."""

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, reserved ones included."""

    def encode_batch(self, texts: Sequence[str]) -> Encoded:
        """Encode each text as one document."""
