"""The files that a unit includes, directly or not, by its own inclusions and those inside a shared header.

Paths inside the tree are relative to it. All others are as libclang names them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

Inclusions = tuple[tuple[bytes, bytes], ...]
"""(includer, included) of every inclusion in a parse."""
_HEADERS = 8
"""The number of shared headers whose inclusions are kept. A worker parses the units of one header after another."""


class _Below(NamedTuple):
    """Everything that a file includes, directly or not, and the part of it in the tree."""

    files: frozenset[bytes]
    inside: frozenset[bytes]


_NOTHING = _Below(frozenset(), frozenset())


class SharedInclusions:
    """The inclusions inside a shared header. `files` are all included files."""

    def __init__(self, inclusions: Inclusions) -> None:
        self.files = frozenset(path for _, path in inclusions)
        self._direct = _by_includer(inclusions)
        self._known: dict[bytes, _Below] = {}

    def below(self, path: bytes) -> _Below:
        """Return what the file at `path` includes. It is computed once per file."""
        if path not in self._direct:
            return _NOTHING
        if path not in self._known:
            files = self._walk(path)
            self._known[path] = _Below(files, frozenset(_of_tree(files)))
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
def shared_inclusions(inclusions: Inclusions) -> SharedInclusions:
    """Return the inclusions of a header, computed once for all of its batches."""
    return SharedInclusions(inclusions)


def reached(path: bytes, own: Sequence[tuple[bytes, bytes]], shared: SharedInclusions) -> set[bytes]:
    """Return every file of the tree that the one at `path` includes, directly or not, also by its unit's `own`
    inclusions.
    """
    direct = _by_includer(own)
    found: set[bytes] = set()
    walked: set[bytes] = set()
    pending = {path}
    while pending:
        includer = pending.pop()
        walked.add(includer)
        below = shared.below(includer)
        nearest = direct.get(includer, set())
        found |= nearest | below.inside
        pending |= (nearest | below.files.intersection(direct)) - walked
    return _of_tree(found)


def _of_tree(paths: Iterable[bytes]) -> set[bytes]:
    return {path for path in paths if not path.startswith(b"/")}


def _by_includer(inclusions: Iterable[tuple[bytes, bytes]]) -> dict[bytes, set[bytes]]:
    below: dict[bytes, set[bytes]] = defaultdict(set)
    for includer, path in inclusions:
        below[includer].add(path)
    return below
