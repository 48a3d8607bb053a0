"""The first-character rule: a token has the metadata of the first character it covers (seed 000)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.enriched.spans import Spans
from megacpp_assets.storage.ragged import Ragged


def first_character_values(chars: Ragged, spans: Spans) -> NDArray[Any]:
    """One value per token, of the dtype of `chars`, from one value per character.

    0 for a token that covers no character (BOS) or starts beyond the values, so an empty source gives zeros.
    """
    covered = (spans.ends > spans.starts) & (spans.starts < chars.lengths[spans.owner])
    place = (chars.offsets[:-1][spans.owner] + spans.starts)[covered]
    out = np.zeros(len(spans.starts), dtype=chars.values.dtype)
    out[covered] = chars.values[place]
    return out
