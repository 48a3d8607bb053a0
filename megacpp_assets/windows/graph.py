"""The calls in the tree of one commit by names: an index that is updated from one commit to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from megacpp_assets.windows.code_graph import CALLEE, CALLER, DefinitionLines, DefinitionPlace, Edge, Walk
from megacpp_assets.windows.functions import OWN_SCOPE, UNKNOWN_SCOPE, Functions, ParsedBlobs
from megacpp_assets.windows.trees import TreeChange, tree_changes

MOST_CANDIDATES: Final = 3
"""A name with more definitions gives no edge, because it rarely refers to any one of them."""


@dataclass(slots=True)
class _Definitions:
    """The definitions of one name, by path and number, and of these the ones in each scope and file."""

    places: list[DefinitionPlace]
    in_scope: dict[int, list[DefinitionPlace]] = field(default_factory=dict)
    in_file: dict[str, list[DefinitionPlace]] = field(default_factory=dict)


@dataclass(slots=True)
class TreeGraph:
    """The files of a tree, parsed, with the paths that define and that call each name: the `CodeGraph` of v4.

    A place is a function and its number in its file. The confidence of an edge is "name" for the only definition of
    the called name, else "overload".
    """

    blobs: ParsedBlobs
    files: dict[str, tuple[str, Functions]] = field(default_factory=dict)
    _defining: dict[int, set[str]] = field(default_factory=dict)
    _calling: dict[int, set[str]] = field(default_factory=dict)
    _found: dict[int, _Definitions] = field(default_factory=dict)
    """The definitions of the names that were asked for in this tree."""
    _standard: int = field(init=False)

    def __post_init__(self) -> None:
        self._standard = self.blobs.names.number("std")

    def follow(self, walk: Walk) -> Iterator[None]:
        """Move to the tree of each commit of `walk` in turn. Raises the errors of `git`."""
        for changes in tree_changes(walk.git_dir, walk.commits, walk.most_bytes, walk.left_out):
            self.apply(changes)
            yield

    def read(self, changed: Mapping[str, str]) -> None:
        """Nothing to prepare: the whole tree is parsed."""

    def look_around(self, targets: Sequence[DefinitionPlace]) -> None:
        """Nothing to prepare: the whole tree is parsed."""

    def functions(self, path: str, blob: str) -> Sequence[tuple[DefinitionPlace, DefinitionLines]] | None:
        """Return the functions of a file in order; None if the tree has another blob at `path`."""
        found, functions = self.files.get(path, ("", None))
        if functions is None or found != blob:
            return None
        columns = zip(functions.first.tolist(), functions.end.tolist(), functions.qualified.tolist(), strict=True)
        name = self.blobs.names.name
        return [
            (DefinitionPlace(path, number), DefinitionLines(blob, first, end, name(qualified)))
            for number, (first, end, qualified) in enumerate(columns)
        ]

    def node(self, place: DefinitionPlace) -> DefinitionLines:
        """Return the lines of a function and its name."""
        blob, functions = self.files[place.path]
        number = place.number
        name = self.blobs.names.name(int(functions.qualified[number]))
        return DefinitionLines(blob, int(functions.first[number]), int(functions.end[number]), name)

    def relatives(self, place: DefinitionPlace) -> Sequence[Edge]:
        """Return nothing, because types cannot be found by names."""
        return ()

    def apply(self, changes: Iterable[TreeChange]) -> None:
        """Apply the changes of a commit. Only names that are added to a file or removed from it are updated."""
        self._found.clear()
        for path, blob in changes:
            before = self.files.pop(path, None)
            after = self.blobs.get(blob) if blob else None
            if after is not None:
                self.files[path] = (blob, after)
            old, new = _names(before[1] if before else None), _names(after)
            for index, gone, come in zip((self._defining, self._calling), old, new, strict=True):
                _move(index, path, gone - come, come - gone)

    def callees(self, place: DefinitionPlace) -> list[Edge]:
        """Return the functions that `place` calls, in the order of its calls, with repetitions."""
        functions = self.files[place.path][1]
        edges: list[Edge] = []
        for name, asked, line in functions.calls_of(place.number):
            found = self._candidates(self._definitions(name), place, asked)
            edges += [Edge(each, _confidence(found), line, CALLEE) for each in found]
        return edges

    def callers(self, place: DefinitionPlace) -> list[Edge]:
        """Return the functions with a call that may refer to `place`, by path and number."""
        name = int(self.files[place.path][1].name[place.number])
        definitions = self._definitions(name)
        edges: list[Edge] = []
        for path in sorted(self._calling.get(name, ())):
            functions = self.files[path][1]
            for number, asked in functions.calling(name):
                found = self._candidates(definitions, DefinitionPlace(path, number), asked)
                if place in found:
                    first = int(functions.first[number])
                    edges.append(Edge(DefinitionPlace(path, number), _confidence(found), first, CALLER))
        return edges

    def _definitions(self, name: int) -> _Definitions:
        known = self._found.get(name)
        if known is not None:
            return known
        places = [
            DefinitionPlace(path, number)
            for path in sorted(self._defining.get(name, ()))
            for number in self.files[path][1].named(name)
        ]
        found = self._found[name] = _Definitions(places)
        for place in places:
            found.in_scope.setdefault(self._scope(place), []).append(place)
            found.in_file.setdefault(place.path, []).append(place)
        return found

    def _candidates(self, definitions: _Definitions, caller: DefinitionPlace, asked: int) -> list[DefinitionPlace]:
        """Return the definitions to which a call may refer, or none if there are too many.

        Definitions in the scope that the call names have priority, then those in its own file if there are many. For a
        bare name the scope is that of the caller, so methods of its own class come first.
        """
        if asked == self._standard:
            return []
        found = definitions.places
        if asked != UNKNOWN_SCOPE:
            found = definitions.in_scope.get(self._scope(caller) if asked == OWN_SCOPE else asked) or found
        if len(found) > MOST_CANDIDATES:
            own = definitions.in_file.get(caller.path, [])
            found = own if found is definitions.places else [place for place in found if place.path == caller.path]
        return found if len(found) <= MOST_CANDIDATES else []

    def _scope(self, place: DefinitionPlace) -> int:
        return int(self.files[place.path][1].scope[place.number])


def _names(functions: Functions | None) -> tuple[set[int], set[int]]:
    """Return the names that a file defines, and those that it calls."""
    return (set(), set()) if functions is None else (set(functions.name.tolist()), set(functions.callee.tolist()))


def _move(index: dict[int, set[str]], path: str, gone: set[int], come: set[int]) -> None:
    for name in gone:
        index[name].discard(path)
    for name in come:
        index.setdefault(name, set()).add(path)


def _confidence(found: list[DefinitionPlace]) -> str:
    return "name" if len(found) == 1 else "overload"
