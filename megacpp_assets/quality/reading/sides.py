"""What of held-out definitions stands in documents that train, white space and comments aside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from megacpp_assets.compute.shingles import Shingles, joined, shares, shingles
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import ROOT_ROLE, VALID_SPLIT

DEFINITION_BYTES: Final = 200
"""A shorter root may well be written twice."""
RUN_TOKENS: Final = 16
"""A definition of which every run of so many tokens stands in training stands there verbatim, to all intents."""


class Sides:
    """Documents of both sides, one after the other."""

    def __init__(self) -> None:
        self._trained: list[Shingles] = []
        self._held: list[Shingles] = []
        self._bytes: list[int] = []

    def add(self, document: Mapping[str, Any]) -> None:
        """Take a document: its text, its side and its constituents."""
        text = document[c.TEXT]
        if document[c.SPLIT] != VALID_SPLIT:
            self._trained.append(shingles(text, RUN_TOKENS))
            return
        for part in document[c.CONSTITUENTS]:
            size = part["byte_end"] - part["byte_start"]
            if part["role"] == ROOT_ROLE and size >= DEFINITION_BYTES:
                self._held.append(shingles(text[part["char_start"] : part["char_end"]], RUN_TOKENS))
                self._bytes.append(size)

    def leaked(self) -> tuple[int, int]:
        """Bytes of held-out roots that stand in training, and of all of them."""
        found = shares(self._held, joined(self._trained))
        return sum(size for size, share in zip(self._bytes, found, strict=True) if share == 1), sum(self._bytes)
