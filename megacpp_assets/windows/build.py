"""From listed commits to windows: the tree of each commit is followed, and each function that it modified gets one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from megacpp_assets.contract.encoding import TextEncoder
from megacpp_assets.contract.sources.commit import Commit
from megacpp_assets.versions.inline import Sides
from megacpp_assets.versions.judge import Judge
from megacpp_assets.versions.patches import BlobPair, Patch, patches_of
from megacpp_assets.versions.pieces import Source
from megacpp_assets.versions.records import Origin, names_of, record
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import Edge, Place, TreeGraph
from megacpp_assets.windows.targets import NO_EDITS, Edits, Stretch, edits_by_line, modified
from megacpp_assets.windows.trees import tree_changes
from megacpp_assets.windows.window import Context, Target, ordered, tokens_of, windows

NO_FUNCTION: Final = "no function modified"
OVER_WINDOWS: Final = "over the windows of a commit"
OVER_BUDGET: Final = "modified function over the budget"
ALONE: Final = "no caller or callee found"
REPEATED: Final = "same window twice"
HELD_OUT: Final = "held-out file"
LONG_CONTEXT: Final = "over the tokens of one caller or callee"
MOST_CONTEXT_TOKENS: Final = 4096
"""A longer caller or callee would take the place of all others, and its far parts say little about the target."""
_KEPT_COUNTS: Final = 200_000

Emit = Callable[[str, bytes], None]
"""Takes a document set and the JSON line of a window of it."""


@dataclass(frozen=True, slots=True)
class Sets:
    """The document sets to make, with the most tokens of a window of each, and the encoder that counts them."""

    limits: Mapping[str, int]
    encoder: TextEncoder


@dataclass(slots=True)
class Builder:
    """Makes the windows of `sets`.

    `left_out` counts, by set, changes and functions without a window by rule; `context_left_out` the callers and
    callees, and `tree_left_out` the files of trees, that no window uses.
    """

    git_dir: Path
    sets: Sets
    origin: Origin
    judge: Judge
    left_out: dict[str, Counter[str]] = field(default_factory=dict)
    context_left_out: Counter[str] = field(default_factory=Counter)
    tree_left_out: Counter[str] = field(default_factory=Counter)
    graph: TreeGraph = field(init=False)
    _names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _judged: dict[tuple[str, int, str], tuple[str, int]] = field(default_factory=dict)
    _written: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.graph = TreeGraph(ParsedBlobs(self.judge.files))

    def build(self, commits: Sequence[Commit], emit: Emit, progress: Callable[[int], None]) -> None:
        """Make every window of `commits`, oldest first. `progress` receives the number of commits that are done."""
        self.left_out = {name: Counter() for name in self.sets.limits}
        self._names = {
            name: names_of(change) for commit in commits for change in commit.changes for name in change.names
        }
        trees = tree_changes(
            self.git_dir, [commit.commit for commit in commits], self.judge.recipe.file_bytes, self.tree_left_out
        )
        patches = patches_of(self.git_dir, commits, context=1)
        for done, (commit, tree, found) in enumerate(zip(commits, trees, patches, strict=True), start=1):
            self.graph.apply(tree)
            self.commit(commit, found, emit)
            progress(done)

    def commit(self, commit: Commit, patches: Mapping[BlobPair, Patch], emit: Emit) -> None:
        """Make the windows of one commit, whose tree the graph has."""
        self._written.clear()
        changed = {sides.change.path: (sides, edits) for sides, edits in self._changed(commit, patches)}
        targets = [target for sides, edits in changed.values() for target in self._targets(sides, edits)]
        most = self.judge.recipe.most_windows
        self._count(OVER_WINDOWS, max(len(targets) - most, 0))
        edits = {path: edits for path, (_, edits) in changed.items()}
        for target in targets[:most]:
            self._window(target, edits, emit)

    def _changed(self, commit: Commit, patches: Mapping[BlobPair, Patch]) -> Iterator[tuple[Sides, Edits]]:
        """The changes that may have windows; the others are counted."""
        for change in commit.changes:
            patch = patches.get(change.sides)
            sides = self.judge.sides_of(commit, change, patch)
            rule = sides if isinstance(sides, str) else self.judge.bars(change, patch)
            if rule or isinstance(sides, str):
                self._count(rule)
            else:
                yield sides, edits_by_line(sides)

    def _targets(self, sides: Sides, edits: Edits) -> list[Target]:
        path = sides.change.path
        blob, functions = self.graph.files.get(path, ("", None))
        found = modified(functions, edits) if functions is not None and blob == sides.change.blob_post else []
        if not found:
            self._count(NO_FUNCTION)
        return [self._target(sides, edits, Place(path, number)) for number in found]

    def _target(self, sides: Sides, edits: Edits, place: Place) -> Target:
        return Target(sides, edits, place, self._name(place), self._stretch(place, edits))

    def _window(self, target: Target, edits: Mapping[str, Edits], emit: Emit) -> None:
        change = target.sides.change
        if rule := self.judge.bars_text(names_of(change), target.stretch.text.encode()):
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

    def _contexts(self, target: Target, edits: Mapping[str, Edits]) -> Iterator[Context]:
        """Callers and callees in order, as many as the largest window may have room for."""
        trains = not self.origin.validates(names_of(target.sides.change))
        room = max(self.sets.limits.values())
        for edge, caller in ordered(self.graph, target, edits):
            rule, tokens = self._judge(edge, caller=caller)
            if not rule and trains and self.origin.validates(self._file_names(edge.place.path)):
                rule = HELD_OUT
            if rule:
                self.context_left_out[rule] += 1
                continue
            stretch = self._stretch(edge.place, edits.get(edge.place.path, NO_EDITS))
            yield Context(edge, caller, self._heading(edge.place, caller=caller), stretch, tokens)
            room -= tokens
            if room <= 0:
                return

    def _judge(self, edge: Edge, *, caller: bool) -> tuple[str, int]:
        """The rule that keeps a function out of windows, "" for none, and the tokens that it takes there."""
        place = edge.place
        key = self.graph.files[place.path][0], place.function, self._heading(place, caller=caller)
        if key not in self._judged:
            if len(self._judged) > _KEPT_COUNTS:
                self._judged.clear()
            text = self._stretch(place, NO_EDITS).text
            rule = self.judge.bars_text(self._file_names(place.path), text.encode())
            tokens = tokens_of(self.sets.encoder, key[2] + text) - 1
            self._judged[key] = rule or (LONG_CONTEXT if tokens > MOST_CONTEXT_TOKENS else ""), tokens
        return self._judged[key]

    def _stretch(self, place: Place, edits: Edits) -> Stretch:
        blob, functions = self.graph.files[place.path]
        version = self.judge.files.get(blob)
        first, end = int(functions.first[place.function]), int(functions.end[place.function])
        return Stretch(Source(place.path, blob, 0, 0), version, first, end, edits)

    def _name(self, place: Place) -> str:
        return self.graph.blobs.names.name(int(self.graph.files[place.path][1].qualified[place.function]))

    def _heading(self, place: Place, *, caller: bool) -> str:
        return f"// === {'CALLED BY' if caller else 'CALLS'}: {self._name(place)} ({place.path}) ===\n"

    def _file_names(self, path: str) -> tuple[str, ...]:
        return self._names.get(path, (path,))

    def _count(self, rule: str, count: int = 1) -> None:
        for counter in self.left_out.values():
            counter.update({rule: count} if count else {})
