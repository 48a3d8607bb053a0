"""Finds held-out definitions in training documents. White space and comments do not count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from megacpp_assets.compute.shingles import Shingles, Verbatim
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.semantic.documents.roots.held_out import RUN_TOKENS, runs_of_definition


class Leak(NamedTuple):
    """Bytes of held-out roots that training documents contain, bytes of all held-out roots, and the first such root."""

    bytes: int
    held: int
    first: str

    @property
    def is_allowed(self) -> bool:
        """Whether at most 0.1 % of the bytes are found in training documents."""
        return self.bytes * 1000 <= self.held

    def __str__(self) -> str:
        share = f"{self.bytes} of {self.held} bytes of held-out roots are in training documents"
        return f"{share}, first {self.first}" if self.first else share


class LeakDetector:
    """Compares the roots of held-out documents with the texts of training documents."""

    def __init__(self, held: Iterable[Mapping[str, Any]]) -> None:
        """`held` are held-out documents, mappings with text and constituents."""
        roots = [root for document in held for root in _roots(document)]
        self._names = [root.name for root in roots]
        self._sizes = np.array([root.size for root in roots], dtype=np.int64)
        self._held = Verbatim([root.runs for root in roots])

    def add_training_text(self, text: str) -> None:
        """Look for the held-out roots in the text of a training document."""
        self._held.see(text, RUN_TOKENS)

    def leaked(self) -> Leak:
        """Return the held-out roots found in the training texts so far."""
        found = self._held.found()
        first = next((name for name, is_found in zip(self._names, found, strict=True) if is_found), "")
        return Leak(int(self._sizes[found].sum()), int(self._sizes.sum()), first)


class _Root(NamedTuple):
    """A held-out root: text that names its file and byte range, its size in bytes, and its runs of tokens."""

    name: str
    size: int
    runs: Shingles


def _roots(document: Mapping[str, Any]) -> Iterator[_Root]:
    """Yield the roots of `document` that are long enough to compare: too short a root has no run of tokens."""
    for part in document[c.CONSTITUENTS]:
        size = part["byte_end"] - part["byte_start"]
        if part["role"] == ROOT_ROLE:
            runs = runs_of_definition(document[c.TEXT][part["char_start"] : part["char_end"]], size)
            if len(runs):
                name = f"bytes {part['byte_start']} to {part['byte_end']} of {part['filepath']}"
                yield _Root(name, size, runs)
