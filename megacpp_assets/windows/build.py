"""From listed commits to windows: the graph follows the trees, and each modified function gets a window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from megacpp_assets.contract.sources.commit import Commit
from megacpp_assets.contract.tokens.encoding import TextEncoder
from megacpp_assets.versions.judge import ChangeRules
from megacpp_assets.versions.records import LineOrigin, names_of, record
from megacpp_assets.versions.text.inline import Sides
from megacpp_assets.versions.text.pieces import Source
from megacpp_assets.windows.code_graph import CodeGraph, DefinitionPlace, Edge, Walk
from megacpp_assets.windows.targets import NO_EDITS, EditedLines, Edits, edits_by_line, modified
from megacpp_assets.windows.window import ModifiedFunction, WindowContext, ordered, tokens_of_each, windows

NO_FUNCTION: Final = "no function modified"
OVER_WINDOWS: Final = "over the windows of a commit"
OVER_BUDGET: Final = "modified function over the budget"
ALONE: Final = "no caller or callee found"
REPEATED: Final = "same window twice"
HELD_OUT: Final = "held-out file"
LONG_CONTEXT: Final = "over the tokens of one caller or callee"
MOST_CONTEXT_TOKENS: Final = 4096
"""A longer caller or callee would replace all others, and its distant parts are of little use for the target."""
_CONTEXT_LINES: Final = 1
"""Lines around a change in which a denied symbol or a secret leaves out the file. No window shows them as such."""
_KEPT_COUNTS: Final = 200_000
_TOGETHER: Final = 32
"""The number of functions and classes whose tokens are counted in one call."""

_Key = tuple[str, int, str]
"""Identifies a function or class in windows: its blob, its number there, and its heading."""

Emit = Callable[[str, bytes], None]
"""Receives a document set and the JSON line of one of its windows."""


@dataclass(frozen=True, slots=True)
class Sets:
    """The document sets to make, with the maximum tokens of a window of each, and the encoder that counts them."""

    limits: Mapping[str, int]
    encoder: TextEncoder


@dataclass(slots=True)
class WindowBuilder:
    """Makes the windows of `sets` from the answers of `graph`.

    `left_out` counts changes and functions without a window, by set and rule. `context_left_out` counts callers,
    callees and types that are not used, and `tree_left_out` the files of trees that are not read.
    """

    git_dir: Path
    sets: Sets
    origin: LineOrigin
    judge: ChangeRules
    graph: CodeGraph
    left_out: dict[str, Counter[str]] = field(default_factory=dict)
    context_left_out: Counter[str] = field(default_factory=Counter)
    tree_left_out: Counter[str] = field(default_factory=Counter)
    _names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _judged: dict[_Key, tuple[str, int]] = field(default_factory=dict)
    _written: set[tuple[str, str]] = field(default_factory=set)

    def build(self, commits: Sequence[Commit], emit: Emit, progress: Callable[[int], None]) -> None:
        """Make every window of `commits`, oldest first. `progress` receives the number of commits that are done."""
        self.left_out = {name: Counter() for name in self.sets.limits}
        self._names = {
            name: names_of(change) for commit in commits for change in commit.changes for name in change.names
        }
        ids = [commit.commit for commit in commits]
        trees = self.graph.follow(Walk(self.git_dir, ids, self.judge.recipe.file_bytes, self.tree_left_out))
        for done, (commit, _) in enumerate(zip(commits, trees, strict=True), start=1):
            self.commit(commit, emit)
            progress(done)

    def commit(self, commit: Commit, emit: Emit) -> None:
        """Make the windows of one commit, whose tree the graph has."""
        self._written.clear()
        changed = {sides.change.path: (sides, edits) for sides, edits in self._changed(commit)}
        self.graph.read({path: sides.change.blob_post for path, (sides, _) in changed.items()})
        targets = [target for sides, edits in changed.values() for target in self._targets(sides, edits)]
        most = self.judge.recipe.most_windows
        self._count(OVER_WINDOWS, max(len(targets) - most, 0))
        self.graph.look_around([target.place for target in targets[:most]])
        edits = {path: edits for path, (_, edits) in changed.items()}
        for target in targets[:most]:
            self._window(target, edits, emit)

    def _changed(self, commit: Commit) -> Iterator[tuple[Sides, Edits]]:
        """Yield the changes that may have windows, and count the others."""
        for change in commit.changes:
            sides = self.judge.sides_of(commit, change, _CONTEXT_LINES)
            rule = sides if isinstance(sides, str) else self.judge.bars(sides)
            if rule or isinstance(sides, str):
                self._count(rule)
            else:
                yield sides, edits_by_line(sides)

    def _targets(self, sides: Sides, edits: Edits) -> list[ModifiedFunction]:
        functions = self.graph.functions(sides.change.path, sides.change.blob_post)
        found = modified(functions, edits) if functions is not None else []
        if not found:
            self._count(NO_FUNCTION)
        return [self._target(sides, edits, place) for place in found]

    def _target(self, sides: Sides, edits: Edits, place: DefinitionPlace) -> ModifiedFunction:
        return ModifiedFunction(sides, edits, place, self.graph.node(place).name, self._stretch(place, edits))

    def _window(self, target: ModifiedFunction, edits: Mapping[str, Edits], emit: Emit) -> None:
        change = target.sides.change
        if rule := self.judge.bars_part(names_of(change), target.stretch.version, *target.stretch.bytes):
            self._count(rule)
            return
        contexts = list(self._contexts(target, edits))
        if not contexts:
            self._count(ALONE)
            return
        for name, pieces in windows(self.sets.encoder, target, contexts, self.sets.limits):
            if pieces is None:
                self.left_out[name][OVER_BUDGET] += 1
            elif (name, pieces.text) in self._written:
                self.left_out[name][REPEATED] += 1
            else:
                self._written.add((name, pieces.text))
                emit(name, record(name, target.sides.commit, change, pieces, self.origin))

    def _contexts(self, target: ModifiedFunction, edits: Mapping[str, Edits]) -> Iterator[WindowContext]:
        """Yield the functions and classes around the target in order, until the largest window is full."""
        trains = not self.origin.validates(names_of(target.sides.change))
        room = max(self.sets.limits.values())
        for edge in self._known(ordered(self.graph, target, edits)):
            heading = self._heading(edge)
            rule, tokens = self._judged[self._key(edge, heading)]
            if not rule and trains and self.origin.validates(self._file_names(edge.place.path)):
                rule = HELD_OUT
            if rule:
                self.context_left_out[rule] += 1
                continue
            stretch = self._stretch(edge.place, edits.get(edge.place.path, NO_EDITS))
            yield WindowContext(edge, heading, stretch, tokens)
            room -= tokens
            if room <= 0:
                return

    def _known(self, edges: Iterator[Edge]) -> Iterator[Edge]:
        """Yield `edges` after their functions and classes are judged, some at a time: one call counts their tokens."""
        while some := list(islice(edges, _TOGETHER)):
            if len(self._judged) > _KEPT_COUNTS:
                self._judged.clear()
            headed = [(edge, self._heading(edge)) for edge in some]
            self._judge({self._key(*each): each for each in headed})
            yield from some

    def _judge(self, asked: Mapping[_Key, tuple[Edge, str]]) -> None:
        """Record the rule that keeps each function or class out of windows, or "", and its number of tokens."""
        new = {key: each for key, each in asked.items() if key not in self._judged}
        stretches = [self._stretch(edge.place, NO_EDITS) for edge, _ in new.values()]
        texts = [heading + stretch.text for (_, heading), stretch in zip(new.values(), stretches, strict=True)]
        counts = tokens_of_each(self.sets.encoder, texts) if texts else []
        for (key, (edge, _)), stretch, count in zip(new.items(), stretches, counts, strict=True):
            rule = self.judge.bars_part(self._file_names(edge.place.path), stretch.version, *stretch.bytes)
            tokens = count - 1
            self._judged[key] = rule or (LONG_CONTEXT if tokens > MOST_CONTEXT_TOKENS else ""), tokens

    def _key(self, edge: Edge, heading: str) -> _Key:
        return self.graph.node(edge.place).blob, edge.place.number, heading

    def _stretch(self, place: DefinitionPlace, edits: Edits) -> EditedLines:
        node = self.graph.node(place)
        return EditedLines(
            Source(place.path, node.blob, 0, 0), self.judge.files.get(node.blob), node.first, node.end, edits
        )

    def _heading(self, edge: Edge) -> str:
        return f"// === {edge.relation.heading}: {self.graph.node(edge.place).name} ({edge.place.path}) ===\n"

    def _file_names(self, path: str) -> tuple[str, ...]:
        return self._names.get(path, (path,))

    def _count(self, rule: str, count: int = 1) -> None:
        for counter in self.left_out.values():
            counter.update({rule: count} if count else {})
