"""What of held-out definitions stands in documents that train, white space and comments aside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from megacpp_assets.compute.shingles import Shingles, Verbatim
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.semantic.documents.held_out import RUN_TOKENS, runs_of_definition


class Leaked(NamedTuple):
    """Bytes of held-out roots that stand in training, of how many, and the first such root."""

    bytes: int
    held: int
    first: str

    @property
    def is_allowed(self) -> bool:
        """Whether it is at most 0.1 %."""
        return self.bytes * 1000 <= self.held

    def __str__(self) -> str:
        told = f"{self.bytes} of {self.held} bytes of held-out roots stand in training"
        return f"{told}, first that of {self.first}" if self.first else told


class Sides:
    """Documents of both sides: first those that are held out, then the texts of those that train."""

    def __init__(self, held: Iterable[Mapping[str, Any]]) -> None:
        roots = [root for document in held for root in _roots(document)]
        self._names = [root.name for root in roots]
        self._sizes = np.array([root.size for root in roots], dtype=np.int64)
        self._held = Verbatim([root.runs for root in roots])

    def train(self, text: str) -> None:
        """Take the text of a document that trains."""
        self._held.see(text, RUN_TOKENS)

    def leaked(self) -> Leaked:
        """What of the held-out roots stands in training."""
        found = self._held.found()
        first = next((name for name, is_found in zip(self._names, found, strict=True) if is_found), "")
        return Leaked(int(self._sizes[found].sum()), int(self._sizes.sum()), first)


class _Root(NamedTuple):
    """A held-out root: its file and place there, its bytes, and its runs of tokens."""

    name: str
    size: int
    runs: Shingles


def _roots(document: Mapping[str, Any]) -> Iterator[_Root]:
    """Each root of `document`, a mapping with its text and constituents, that is long enough."""
    for part in document[c.CONSTITUENTS]:
        size = part["byte_end"] - part["byte_start"]
        if part["role"] == ROOT_ROLE:
            runs = runs_of_definition(document[c.TEXT][part["char_start"] : part["char_end"]], size)
            if len(runs):
                name = f"bytes {part['byte_start']} to {part['byte_end']} of {part['filepath']}"
                yield _Root(name, size, runs)
