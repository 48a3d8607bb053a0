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
    """Of each token the place of its first character among those of all documents, whose `offsets` these are; `none`
    are the tokens without one: BOS, and what starts beyond the characters."""

    offsets: NDArray[np.int64]
    place: NDArray[np.int64]
    none: NDArray[np.int64]

    def values(self, chars: NDArray[Any], fill: int = 0) -> NDArray[Any]:
        """One value per token, of the dtype of `chars`, from one value per character; `fill` for `none`."""
        if not len(chars):
            return np.full(len(self.place), fill, dtype=chars.dtype)
        found: NDArray[Any] = chars.take(self.place)
        found[self.none] = fill
        return found


def first_characters(chars: Ragged, spans: Spans) -> FirstCharacters:
    """Where tokens begin in `chars`. Columns with the same offsets share it."""
    covered = (spans.ends > spans.starts) & (spans.starts < spans.repeat(chars.lengths))
    place: NDArray[np.int64] = spans.repeat(chars.offsets[:-1]) + spans.starts
    none = np.flatnonzero(~covered)
    place[none] = 0
    return FirstCharacters(chars.offsets, place, none)
