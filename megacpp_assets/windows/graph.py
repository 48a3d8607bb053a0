"""Who calls whom in the tree of one commit, by names: an index that follows the tree from one commit to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from megacpp_assets.windows.functions import OWN_SCOPE, UNKNOWN_SCOPE, Functions, ParsedBlobs
from megacpp_assets.windows.trees import TreeChange

MOST_CANDIDATES: Final = 3
"""A name with more definitions gives no edge: it says little about which one is meant."""


class Place(NamedTuple):
    """A function of the tree: the path of its file and its number there."""

    path: str
    function: int


class Edge(NamedTuple):
    """The other end of a call. `confidence` is "name" for the only definition of the called name, else "overload".

    `line` is where the call stands, or of a caller where it begins.
    """

    place: Place
    confidence: str
    line: int


@dataclass(slots=True)
class TreeGraph:
    """The files of a tree, parsed, with the paths that define and that call each name."""

    blobs: ParsedBlobs
    files: dict[str, tuple[str, Functions]] = field(default_factory=dict)
    _defining: dict[int, set[str]] = field(default_factory=dict)
    _calling: dict[int, set[str]] = field(default_factory=dict)
    _standard: int = field(init=False)

    def __post_init__(self) -> None:
        self._standard = self.blobs.names.number("std")

    def apply(self, changes: Iterable[TreeChange]) -> None:
        """Follow the tree. Only names that a change adds to a file, or takes from it, are touched."""
        for path, blob in changes:
            before = self.files.pop(path, None)
            after = self.blobs.get(blob) if blob else None
            if after is not None:
                self.files[path] = (blob, after)
            old, new = _names(before[1] if before else None), _names(after)
            for index, gone, come in zip((self._defining, self._calling), old, new, strict=True):
                _move(index, path, gone - come, come - gone)

    def callees(self, caller: Place) -> Iterator[Edge]:
        """The functions that `caller` calls, in the order of its calls; one that it calls twice comes twice."""
        functions = self.files[caller.path][1]
        for name, asked, line in functions.calls_of(caller.function):
            found = self._meant(self._definitions(name), caller, asked)
            yield from (Edge(place, _confidence(found), line) for place in found)

    def callers(self, callee: Place) -> Iterator[Edge]:
        """The functions whose calls may mean `callee`, by path and number."""
        name = int(self.files[callee.path][1].name[callee.function])
        definitions = self._definitions(name)
        for path in sorted(self._calling.get(name, ())):
            functions = self.files[path][1]
            for number, asked in functions.calling(name):
                found = self._meant(definitions, Place(path, number), asked)
                if callee in found:
                    yield Edge(Place(path, number), _confidence(found), int(functions.first[number]))

    def _definitions(self, name: int) -> list[Place]:
        return [
            Place(path, number)
            for path in sorted(self._defining.get(name, ()))
            for number in self.files[path][1].named(name)
        ]

    def _meant(self, definitions: list[Place], caller: Place, asked: int) -> list[Place]:
        """What a call may mean: the definitions of the scope that it asks for, else any; of many, those of its file.

        A bare name asks for the scope of the caller, in which its class comes first.
        """
        if asked == self._standard:
            return []
        if asked != UNKNOWN_SCOPE:
            scope = self._scope(caller) if asked == OWN_SCOPE else asked
            definitions = [place for place in definitions if self._scope(place) == scope] or definitions
        if len(definitions) > MOST_CANDIDATES:
            definitions = [place for place in definitions if place.path == caller.path]
        return definitions if len(definitions) <= MOST_CANDIDATES else []

    def _scope(self, place: Place) -> int:
        return int(self.files[place.path][1].scope[place.function])


def _names(functions: Functions | None) -> tuple[set[int], set[int]]:
    """The names that a file defines, and those that it calls."""
    return (set(), set()) if functions is None else (set(functions.name.tolist()), set(functions.callee.tolist()))


def _move(index: dict[int, set[str]], path: str, gone: set[int], come: set[int]) -> None:
    for name in gone:
        index[name].discard(path)
    for name in come:
        index.setdefault(name, set()).add(path)


def _confidence(found: list[Place]) -> str:
    return "name" if len(found) == 1 else "overload"
