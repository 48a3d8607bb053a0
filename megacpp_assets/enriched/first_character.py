"""The first-character rule: a token has the metadata of the first character it covers (docs/contracts.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.enriched.spans import Spans
from megacpp_assets.storage.ragged import Ragged


@dataclass(frozen=True, slots=True)
class FirstCharacters:
    """The first character of each token, in the concatenated characters of all documents.

    `offsets` (documents + 1,) has the boundaries of documents among the characters, `place` (tokens,) the index of each
    token's first character. `none` has the tokens without one: BOS, and tokens that start after the characters.
    """

    offsets: NDArray[np.int64]
    place: NDArray[np.int64]
    none: NDArray[np.int64]

    def values(self, chars: NDArray[Any], fill: int = 0) -> NDArray[Any]:
        """Return one value per token from one value per character, with its dtype; `fill` for the tokens `none`."""
        if not len(chars):
            return np.full(len(self.place), fill, dtype=chars.dtype)
        found: NDArray[Any] = chars.take(self.place)
        found[self.none] = fill
        return found


def first_characters(chars: Ragged, spans: Spans) -> FirstCharacters:
    """Find the first character of each token in `chars`. Columns with the same offsets share the result."""
    covered = (spans.ends > spans.starts) & (spans.starts < spans.repeat(chars.lengths))
    place: NDArray[np.int64] = spans.repeat(chars.offsets[:-1]) + spans.starts
    none = np.flatnonzero(~covered)
    place[none] = 0
    return FirstCharacters(chars.offsets, place, none)
