"""Who includes whom: what a unit reaches through its own inclusions and through those inside a shared header.

Paths inside the tree are relative to it, all others as libclang names them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

Inclusions = tuple[tuple[bytes, bytes], ...]
"""(includer, included) of every inclusion that a parse met."""
_HEADERS = 8
"""A worker has the units of a shared header one after another: those of the last few headers are kept."""


@lru_cache(maxsize=_HEADERS)
def included(inclusions: Inclusions) -> frozenset[bytes]:
    """All files that anything includes."""
    return frozenset(path for _, path in inclusions)


def reached(path: bytes, own: Sequence[tuple[bytes, bytes]], shared: Inclusions) -> set[bytes]:
    """Every file that the one at `path` includes, directly or not, by the unit's `own` inclusions and the header's."""
    below, above = _by_includer(own), _closures(shared)
    found: set[bytes] = set()
    pending = {path}
    while pending:
        includer = pending.pop()
        direct = below.get(includer, set()) - found
        through = above.below(includer) - found
        found |= direct | through
        pending |= direct | (through & below.keys())
    return found


class _Closures:
    """All that a file of a shared header includes, directly or not; found once per file."""

    def __init__(self, inclusions: Inclusions) -> None:
        self._direct = _by_includer(inclusions)
        self._known: dict[bytes, frozenset[bytes]] = {}

    def below(self, path: bytes) -> frozenset[bytes]:
        if path not in self._known:
            self._known[path] = self._walk(path)
        return self._known[path]

    def _walk(self, path: bytes) -> frozenset[bytes]:
        found: set[bytes] = set()
        pending = {path}
        while pending:
            fresh = self._direct.get(pending.pop(), set()) - found
            found |= fresh
            pending |= fresh
        return frozenset(found)


@lru_cache(maxsize=_HEADERS)
def _closures(inclusions: Inclusions) -> _Closures:
    return _Closures(inclusions)


def _by_includer(inclusions: Iterable[tuple[bytes, bytes]]) -> dict[bytes, set[bytes]]:
    below: dict[bytes, set[bytes]] = defaultdict(set)
    for includer, path in inclusions:
        below[includer].add(path)
    return below
