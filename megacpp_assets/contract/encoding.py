"""What an encoder gives back: flat arrays or Arrow lists over all documents of a batch, no Python object per token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError

LIST_TOKENS = 2**31 - 1
"""Most tokens in one array of Arrow lists, whose offsets have 32 bits."""


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

    def lists(self) -> EncodedLists:
        """The same values, not copied, as Arrow lists; `SpecError` for more than `LIST_TOKENS` tokens."""
        if self.offsets[-1] > LIST_TOKENS:
            raise SpecError(
                "texts to encode", expected=f"at most {LIST_TOKENS} tokens", found=self.offsets[-1], do="encode fewer"
            )
        offsets = pa.array(self.offsets.astype(np.int32))
        arrays = (self.ids, self.char_starts, self.char_ends)
        return EncodedLists(*(pa.ListArray.from_arrays(offsets, pa.array(values)) for values in arrays))


@dataclass(frozen=True, slots=True)
class EncodedLists:
    """As `Encoded`, with one Arrow list per document in each array: of uint32 ids, and of int32 starts and ends."""

    ids: pa.ListArray
    char_starts: pa.ListArray
    char_ends: pa.ListArray


class TextEncoder(Protocol):
    """An exact tokenizer with character spans."""

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, reserved ones included."""

    def encode_arrow(self, texts: pa.Array | pa.ChunkedArray) -> EncodedLists:
        """Encode each string, or bytes, of an Arrow array as one document; `SpecError` for nulls or another type."""
