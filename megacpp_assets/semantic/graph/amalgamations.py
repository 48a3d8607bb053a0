"""Amalgamations of a repository: files whose definitions are in several other files too.

The parts become the roots of documents, and references lead to them.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.link import Table

_DIGEST_BYTES = 16
_LEAST_SHARE = 0.5
"""The share of an amalgamation's definitions, by bytes, that its parts have at least."""
_LEAST_PARTS = 2


def amalgamations_in(files: Sequence[FileFacts]) -> frozenset[int]:
    """Return the numbers of the `files` that are amalgamations."""
    return amalgamations(
        (number, hashlib.sha256(text).digest()[:_DIGEST_BYTES], len(text))
        for number, facts in enumerate(files)
        for root in facts.roots
        if (text := facts.source.data[root.start : root.end])
    )


def without_copies(declared: Table, whole: frozenset[int]) -> Table:
    """Return the declarations without those in the files `whole` that another file has as well, as good ones.

    A definition is better than a declaration. With the copies a name that only its spelling tells has two definitions,
    and is found in none.
    """
    if not whole:
        return declared
    inside, is_definition, ids = (
        np.isin(declared["file"], np.array(sorted(whole))),
        declared["definition"],
        declared["id"],
    )
    is_copy = np.isin(ids, ids[~inside & is_definition]) | (~is_definition & np.isin(ids, ids[~inside]))
    kept = ~(inside & (ids != 0) & is_copy)
    return {name: column[kept] for name, column in declared.items()}


def amalgamations(roots: Iterable[tuple[int, bytes, int]]) -> frozenset[int]:
    """Return the files that are amalgamations; of each root its file, the hash of its text, and its bytes are given.

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
    """Return whether a file of `size` characters is made of smaller ones with which it shares what `others` count."""
    parts: Sequence[int] = [chars for file, chars in others.items() if chars >= _LEAST_SHARE * sizes[file] < size]
    return len(parts) >= _LEAST_PARTS and sum(parts) >= _LEAST_SHARE * size
