"""What of held-out definitions stands in documents that train, white space and comments aside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from megacpp_assets.compute.shingles import LEAST_RUNS, Shingles, Verbatim, shingles
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import ROOT_ROLE

DEFINITION_BYTES: Final = 200
"""A shorter root may well be written twice."""
RUN_TOKENS: Final = 16
"""A definition of which every run of so many tokens stands in training stands there verbatim, to all intents."""


class Sides:
    """Documents of both sides: first those that are held out, then the texts of those that train."""

    def __init__(self, held: Iterable[Mapping[str, Any]]) -> None:
        roots = [root for document in held for root in _roots(document)]
        self._sizes = np.array([size for size, _ in roots], dtype=np.int64)
        self._held = Verbatim([runs for _, runs in roots])

    def train(self, text: str) -> None:
        """Take the text of a document that trains."""
        self._held.see(text, RUN_TOKENS)

    def leaked(self) -> tuple[int, int]:
        """Bytes of held-out roots that stand in training, and of all of them."""
        return int(self._sizes[self._held.found()].sum()), int(self._sizes.sum())


def _roots(document: Mapping[str, Any]) -> Iterator[tuple[int, Shingles]]:
    """Bytes and runs of each root of `document`, a mapping with its text and constituents, that is long enough.

    One line below a long comment is not: by `LEAST_RUNS` no document stays out of training for it either.
    """
    for part in document[c.CONSTITUENTS]:
        size = part["byte_end"] - part["byte_start"]
        if part["role"] == ROOT_ROLE and size >= DEFINITION_BYTES:
            text = document[c.TEXT][part["char_start"] : part["char_end"]]
            if len(shingles(text)) >= LEAST_RUNS:
                yield size, shingles(text, RUN_TOKENS)
