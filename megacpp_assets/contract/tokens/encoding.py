"""The result of an encoder: flat arrays or Arrow lists for a batch of documents, no Python object per token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError

LIST_TOKENS = 2**31 - 1
"""The most tokens in one array of Arrow lists, whose offsets have 32 bits."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The token ids of n documents as one array. Document i has the tokens [offsets[i], offsets[i + 1]).

    Each document starts with BOS, whose span is (0, 0). The characters of a token are [char_starts, char_ends) of the
    document's text. If a character is split over several tokens, each of them has the span of the whole character.
    `offsets` has shape (n + 1,), all other arrays have shape (tokens,).
    """

    ids: NDArray[np.uint32]
    char_starts: NDArray[np.int32]
    char_ends: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def lists(self) -> EncodedLists:
        """Return the same values as Arrow lists without a copy.

        Raises `SpecError` for more than `LIST_TOKENS` tokens.
        """
        if self.offsets[-1] > LIST_TOKENS:
            raise SpecError(
                "texts to encode", expected=f"at most {LIST_TOKENS} tokens", found=self.offsets[-1], do="encode fewer"
            )
        offsets = pa.array(self.offsets.astype(np.int32))
        arrays = (self.ids, self.char_starts, self.char_ends)
        return EncodedLists(*(pa.ListArray.from_arrays(offsets, pa.array(values)) for values in arrays))


@dataclass(frozen=True, slots=True)
class EncodedLists:
    """Like `Encoded`, with one Arrow list per document in each array: uint32 ids, int32 starts and ends."""

    ids: pa.ListArray
    char_starts: pa.ListArray
    char_ends: pa.ListArray


class TextEncoder(Protocol):
    """An exact tokenizer with character spans."""

    @property
    def vocabulary_size(self) -> int:
        """The number of ids, reserved ones included."""

    def encode_arrow(self, texts: pa.Array | pa.ChunkedArray) -> EncodedLists:
        """Encode each string or bytes value as one document. Raises `SpecError` for nulls or another type."""
