"""The graph of v5: calls and types that libclang resolved in the units that a commit's windows need."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from megacpp_assets.commits.rules import rule_of_path
from megacpp_assets.resolved.demand import Wanted, demanded
from megacpp_assets.resolved.facts import CALLS, OVERLOAD, USES, Facts, Function, ResolvedSymbol
from megacpp_assets.resolved.index import Index
from megacpp_assets.resolved.mentions import TreeIdentifiers
from megacpp_assets.resolved.plans import Plans
from megacpp_assets.resolved.tree import ScratchTree, compiled_change
from megacpp_assets.resolved.units import Units
from megacpp_assets.storage.git_objects import BlobReader, blob_reader_at
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.windows.code_graph import (
    BASE,
    CALLEE,
    CALLER,
    FAR_CALLER,
    TYPE,
    DefinitionLines,
    DefinitionPlace,
    Edge,
    Relation,
    Walk,
)
from megacpp_assets.windows.targets import line_of
from megacpp_assets.windows.trees import TreeChange, source_change, tree_changes

_REGULAR_MODE: Final = "100644"
_LONGEST_NAME: Final = 200
_CLANGS_PARAMETER: Final = "type-parameter-"
"""clang's own name of a parameter of a template, as in `operator Box<type-parameter-0-0>`."""


@dataclass(slots=True)
class ResolvedGraph:
    """The `CodeGraph` of v5. The number of a place is the byte at which a function or class begins in its file.

    Units are parsed when they are needed: those of changed files, and at most `most_files` others of a commit.
    `not_parsed` counts changed files that could not be parsed, by reason.
    """

    tree: ScratchTree
    plans: Plans
    units: Units
    files: FileVersions
    most_files: int
    not_parsed: dict[str, int] = field(default_factory=dict)
    _mentions: TreeIdentifiers = field(default_factory=TreeIdentifiers)
    _index: Index = field(default_factory=Index)
    _nodes: dict[DefinitionPlace, DefinitionLines] = field(default_factory=dict)
    _functions: dict[DefinitionPlace, tuple[str, Function]] = field(default_factory=dict)

    @property
    def parsed_files(self) -> Collection[str]:
        """The files of this commit that were parsed or read from the cache."""
        return self._index.files.keys()

    def follow(self, walk: Walk) -> Iterator[None]:
        """Move to the tree of each commit of `walk` in turn. Raises the errors of `git`."""
        changes = tree_changes(walk.git_dir, walk.commits, walk.most_bytes, walk.left_out, compiled_change)
        with blob_reader_at(walk.git_dir, str(walk.git_dir)) as blobs:
            for each in changes:
                self.apply(each, blobs)
                yield

    def apply(self, changes: Sequence[TreeChange], blobs: BlobReader) -> None:
        """Apply the changes of a commit to the tree. Nothing is parsed."""
        moved = self.tree.apply(changes, blobs)
        for path, _ in changes:
            blob = self.tree.files.get(path, ("", 0))[0]
            shown = blob and source_change(_REGULAR_MODE, blob, path)
            self._mentions.put(path, self.files.get(blob).data if shown else b"")
        self.units.follow((path for path, _ in changes), moved=moved)
        self.plans.follow(changes)
        self._index = Index()
        self._nodes.clear()
        self._functions.clear()

    def read(self, changed: Mapping[str, str]) -> None:
        """Parse the changed files."""
        self._parse([path for path, blob in changed.items() if blob and path in self.tree.files])
        for path in changed:
            if path in self._index.files and (reason := self._index.files[path].reason):
                self.not_parsed[reason] = self.not_parsed.get(reason, 0) + 1

    def _parse(self, paths: Sequence[str]) -> None:
        wanted = [path for path in paths if path not in self._index.files]
        if wanted:
            self._plan()
            self._index.add(self.units.get(wanted))

    def _plan(self) -> None:
        made = self.plans.made
        self.units.plan(self.plans.plan(self.tree))
        if self.plans.made > made:  # a new plan may have written other header stubs
            self.units.follow((), moved=True)

    def functions(self, path: str, blob: str) -> Sequence[tuple[DefinitionPlace, DefinitionLines]] | None:
        """Return the functions of a file in order; None if the tree has another blob there, or it was not parsed."""
        facts = self._index.files.get(path)
        if facts is None or facts.reason or self.tree.files.get(path, ("", 0))[0] != blob:
            return None
        found = [self._place(path, function, facts.symbols[function.symbol]) for function in facts.functions]
        return [(place, self._nodes[place]) for place in dict.fromkeys(found) if place is not None]

    def look_around(self, targets: Sequence[DefinitionPlace]) -> None:
        """Parse the files that may call `targets`, or define their callees."""
        wanted = [self._wanted(place) for place in targets]
        self._parse(demanded(wanted, self._mentions, self._text, self._index.files, self.most_files))

    def _text(self, path: str) -> bytes:
        return self.files.get(self.tree.files[path][0]).data

    def _wanted(self, place: DefinitionPlace) -> Wanted:
        path, function = self._functions[place]
        facts = self._index.files[path]
        undefined = [
            (symbol.spelling, symbol.path)
            for symbol in self._used(place, CALLS)
            if not symbol.defined and self._index.definition(symbol.usr) is None
        ]
        symbol = facts.symbols[function.symbol]
        constructs = symbol.name.split("::")[-2:] == [symbol.spelling] * 2
        return Wanted(path, symbol.spelling, constructs, undefined)

    def _used(self, place: DefinitionPlace, kind: int) -> list[ResolvedSymbol]:
        path, function = self._functions[place]
        facts = self._index.files[path]
        number = facts.functions.index(function)
        return [facts.symbols[use.symbol] for use in facts.uses if use.function == number and use.kind == kind]

    def callers(self, place: DefinitionPlace) -> list[Edge]:
        """Return the functions that call `place` or a method that it overrides, by path and number."""
        return self._callers(place, CALLER)

    def _callers(
        self, place: DefinitionPlace, relation: Relation, through: DefinitionPlace | None = None
    ) -> list[Edge]:
        if place not in self._functions:
            return []
        path, function = self._functions[place]
        usr = self._index.files[path].symbols[function.symbol].usr
        found: dict[DefinitionPlace, Edge] = {}
        for call in self._index.calls_of(usr):
            facts = self._index.files[call.path]
            caller = self._place(call.path, call.function, facts.symbols[call.function.symbol])
            if caller is not None and caller != place:
                edge = Edge(caller, call.confidence, self._nodes[caller].first, relation, through)
                found.setdefault(caller, edge)
        return [found[caller] for caller in sorted(found)]

    def callees(self, place: DefinitionPlace) -> list[Edge]:
        """Return the functions that `place` calls, in order, and the overrides of virtual functions."""
        if place not in self._functions:
            return []
        path, function = self._functions[place]
        facts = self._index.files[path]
        number = facts.functions.index(function)
        edges: list[Edge] = []
        for use in facts.uses:
            if use.function == number and use.kind == CALLS:
                line = line_of(self.files.get(self.tree.files[path][0]), use.offset)
                edges += self._targets_of(facts.symbols[use.symbol], use.confidence, line)
        return edges

    def _targets_of(self, symbol: ResolvedSymbol, confidence: str, line: int) -> Iterator[Edge]:
        place = self._definition(symbol)
        if place is not None:
            yield Edge(place, confidence, line, CALLEE)
        for usr in self._index.overriding(symbol.usr):
            if (found := self._index.definition(usr)) and (other := self._place(*found)) is not None:
                yield Edge(other, OVERLOAD, line, CALLEE)

    def _definition(self, symbol: ResolvedSymbol) -> DefinitionPlace | None:
        """Return the definition of a function: in a file of the index, or as a unit that calls it sees it."""
        if found := self._index.definition(symbol.usr):
            return self._place(*found)
        return self._named(symbol, b"{") if symbol.defined else None

    def relatives(self, place: DefinitionPlace) -> Sequence[Edge]:
        """Return the class of `place`, its bases, the types that `place` uses, then the callers of its callers."""
        path, function = self._functions[place]
        facts = self._index.files[path]
        types = [(number, BASE) for number in self._bases(facts, function.holder)]
        types = [(function.holder, TYPE)] * (function.holder >= 0) + types
        own = facts.functions.index(function)
        types += [(use.symbol, TYPE) for use in facts.uses if use.function == own and use.kind == USES]
        edges: dict[DefinitionPlace, Edge] = {}
        for number, relation in types:
            symbol = facts.symbols[number]
            found = self._named(symbol, b"{") if symbol.defined else None
            if found is not None:
                edges.setdefault(found, Edge(found, "exact", self._nodes[found].first, relation))
        near = self.callers(place)
        far = [edge for each in near for edge in self._callers(each.place, FAR_CALLER, each.place)]
        direct = {place, *(edge.place for edge in near)}
        return [*edges.values(), *(edge for edge in far if edge.place not in direct)]

    def _bases(self, facts: Facts, holder: int) -> list[int]:
        """Return the bases of a class, nearest first."""
        found: dict[int, None] = {}
        waiting: Sequence[int] = [holder]
        while waiting:
            waiting = [base for one in waiting for each, base in facts.bases if each == one and base not in found]
            found |= dict.fromkeys(waiting)
        return list(found)

    def node(self, place: DefinitionPlace) -> DefinitionLines:
        """Return the function or class at a place that the graph returned."""
        return self._nodes[place]

    def _place(self, path: str, function: Function, symbol: ResolvedSymbol) -> DefinitionPlace | None:
        """Return the place of a function of the index, or None if its file may not be shown."""
        place = self._at(path, (function.start, function.end), symbol.name, b"{")
        if place is not None:
            self._functions.setdefault(place, (path, function))
        return place

    def _named(self, symbol: ResolvedSymbol, needed: bytes) -> DefinitionPlace | None:
        """Return the place of a definition that a unit sees in another file, or None if its text lacks `needed`.

        clang also defines implicit members, whose range has no body.
        """
        return self._at(symbol.path, (symbol.start, symbol.end), symbol.name, needed)

    def _at(self, path: str, bytes_: tuple[int, int], name: str, needed: bytes) -> DefinitionPlace | None:
        place = DefinitionPlace(path, bytes_[0])
        if place in self._nodes:
            return place
        blob = self.tree.files.get(path, ("", 0))[0]
        version = self.files.get(blob)
        shown = blob and not version.reason and not rule_of_path(path, ())
        if not shown or bytes_[1] > len(version.data) or needed not in version.data[slice(*bytes_)]:
            return None
        shown_name = _shown_name(name, version.data[slice(*bytes_)])
        self._nodes[place] = DefinitionLines(
            blob, line_of(version, bytes_[0]), line_of(version, bytes_[1] - 1) + 1, shown_name
        )
        return place


def _shown_name(name: str, text: bytes) -> str:
    """Return `name`, or the first line of `text` up to its body if a macro or clang made a name that the text lacks.

    So the heading of a test has `TEST(Suite, Case)` as its author wrote it, and a conversion to `Box<T>` has its T.
    """
    last = name.rpartition("::")[2]
    known = not (last.isascii() and last.isidentifier()) or re.search(rb"\b" + last.encode() + rb"\b", text)
    if known and _CLANGS_PARAMETER not in name:
        return name
    written = " ".join(text.partition(b"{")[0].decode().split())
    return written if 0 < len(written) <= _LONGEST_NAME else name
