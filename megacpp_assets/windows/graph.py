"""Who calls whom in the tree of one commit, by names: an index that follows the tree from one commit to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from megacpp_assets.windows.functions import Functions, ParsedBlobs
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
        for name, line in functions.calls_of(caller.function):
            found = _meant(self._definitions(name), caller.path)
            yield from (Edge(place, _confidence(found), line) for place in found)

    def callers(self, callee: Place) -> Iterator[Edge]:
        """The functions whose calls may mean `callee`, by path and number."""
        name = int(self.files[callee.path][1].name[callee.function])
        definitions = self._definitions(name)
        for path in sorted(self._calling.get(name, ())):
            found = _meant(definitions, path)
            if callee in found:
                functions = self.files[path][1]
                for number in functions.calling(name):
                    yield Edge(Place(path, number), _confidence(found), int(functions.first[number]))

    def _definitions(self, name: int) -> list[Place]:
        return [
            Place(path, number)
            for path in sorted(self._defining.get(name, ()))
            for number in self.files[path][1].named(name)
        ]


def _meant(definitions: list[Place], path: str) -> list[Place]:
    """What a call from the file `path` may mean: any definition, or where there are too many, those of that file."""
    if len(definitions) <= MOST_CANDIDATES:
        return definitions
    own = [place for place in definitions if place.path == path]
    return own if len(own) <= MOST_CANDIDATES else []


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
