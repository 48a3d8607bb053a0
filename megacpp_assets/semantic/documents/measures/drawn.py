"""A sample of documents, drawn by a hash of their ids: the same for the same documents, whatever their order."""

from __future__ import annotations

import hashlib
import heapq
from typing import NamedTuple


class Drawn(NamedTuple):
    """A document that was drawn: its text, and how its first file is parsed (`language` is c or c++, `standard` is
    c++17, gnu11 or another, "" where it is not known)."""

    text: str
    language: str = "c++"
    standard: str = ""


class Draw:
    """The `count` documents whose hashed ids are the smallest among all that are added."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._kept: list[tuple[int, Drawn]] = []

    def add(self, identity: str, document: Drawn) -> None:
        """Take the document `identity` into account."""
        key = -int.from_bytes(hashlib.sha256(identity.encode()).digest())
        if len(self._kept) < self._count:
            heapq.heappush(self._kept, (key, document))
        elif self._kept and key > self._kept[0][0]:
            heapq.heapreplace(self._kept, (key, document))

    @property
    def documents(self) -> list[Drawn]:
        """The documents drawn, in the order of their hashes."""
        return [document for _, document in sorted(self._kept, reverse=True)]
