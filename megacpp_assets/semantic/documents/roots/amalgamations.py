"""Amalgamations of a repository: files whose definitions stand in several others as well. The parts are the roots."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

_LEAST_SHARE = 0.5
"""Of the characters of an amalgamation's definitions, so many stand in its parts."""
_LEAST_PARTS = 2


def amalgamations(roots: Iterable[tuple[int, bytes, int]]) -> frozenset[int]:
    """The files that are amalgamations; of each root its file, the hash of its text, and its characters are given.

    A file that shares its definitions with one other is its twin: neither is an amalgamation.
    """
    lone: dict[bytes, tuple[int, int]] = {}
    places: dict[bytes, dict[int, int]] = {}
    for file, digest, chars in roots:
        if digest in places:
            places[digest][file] = chars
        elif lone.setdefault(digest, (file, chars))[0] != file:
            places[digest] = dict((lone.pop(digest), (file, chars)))
    sizes: Counter[int] = Counter()
    for file, chars in lone.values():
        sizes[file] += chars
    shared: dict[int, Counter[int]] = defaultdict(Counter)
    for files in places.values():
        sizes.update(files)
        if len(files) > 1:
            for file, chars in files.items():
                shared[file].update(dict.fromkeys(files.keys() - {file}, chars))
    found = (file for file, others in shared.items() if _is_made_of(sizes[file], others, sizes))
    return frozenset(found)


def _is_made_of(size: int, others: Counter[int], sizes: Counter[int]) -> bool:
    """Whether a file of `size` characters is made of smaller ones with which it shares what `others` count."""
    parts: Sequence[int] = [chars for file, chars in others.items() if chars >= _LEAST_SHARE * sizes[file] < size]
    return len(parts) >= _LEAST_PARTS and sum(parts) >= _LEAST_SHARE * size
