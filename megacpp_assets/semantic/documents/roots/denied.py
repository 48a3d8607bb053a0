"""Definitions that are in no document: those with an answer of a benchmark, and those that the recipe denies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository

ANSWER: Final = "benchmark answer of "
"""The beginning of the reason why a root with an answer has no document."""
DENIED: Final = "denied symbol of "
"""The beginning of the reason why a root with a denied symbol has no document."""
_LEAST_BYTES: Final = 32
"""An overlap of fewer bytes is no answer: neighbouring definitions share a brace or a return type."""

Answers = Mapping[str, Sequence[tuple[int, int, str]]]
"""Path -> (start, end, item) in bytes of the file."""
Denied = Mapping[tuple[int, int], str]
"""Root, as a range of chunk numbers -> the reason why it is in no document."""
NOTHING_DENIED: Denied = {}


def denied_roots(repository: Repository, answers: Answers, symbols: Iterable[tuple[str, str]] = ()) -> Denied:
    """Return the roots that `answers` or `symbols`, each a path and a name, deny."""
    denied = _by_path(symbols)
    found = ((place.unit, _reason(repository, place, answers, denied)) for place in repository.roots)
    return {unit: reason for unit, reason in found if reason}


def _by_path(symbols: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    """Return path -> the last parts of the names of its denied symbols."""
    by_path: dict[str, set[str]] = defaultdict(set)
    for path, symbol in symbols:
        by_path[path].add(symbol.rpartition("::")[2])
    return {path: frozenset(names) for path, names in by_path.items()}


def _reason(repository: Repository, place: PlacedRoot, answers: Answers, symbols: Mapping[str, frozenset[str]]) -> str:
    source = repository.files[place.file].source
    if denied := symbols.get(source.path):
        found = sorted(denied.intersection(_names(repository, place)))
        if found:
            return f"{DENIED}{source.path}: {found[0]}"
    if known := answers.get(source.path):
        start, end = source.in_blob(place.span.start), source.in_blob(place.span.end)
        least = min(_LEAST_BYTES, (end - start) // 2)
        for first, behind, item in known:
            if min(end, behind) - max(start, first) > least:
                return f"{ANSWER}{item}"
    return ""


def _names(repository: Repository, place: PlacedRoot) -> Iterator[str]:
    """Yield the last parts of the names of a root and of its chunks."""
    yield place.root.name.rpartition("::")[2]
    for number in range(*place.unit):
        yield repository.nodes[number].chunk.name.rpartition("::")[2]
