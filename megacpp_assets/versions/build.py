"""From listed commits to the documents of each version: one pass over the differences, then one over the blobs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from megacpp_assets.contract.lock.removal import takes
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.commit import Change, Commit
from megacpp_assets.curation.secrets import finds_of
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.headers import HEADERS
from megacpp_assets.versions.inline import Sides, marks_of, render_inline
from megacpp_assets.versions.patches import ADDED, REMOVED, Line, Patch, read_patches
from megacpp_assets.versions.pieces import Pieces, Source
from megacpp_assets.versions.records import Origin, record
from megacpp_assets.versions.whole import Marks, add_file, similarity

NO_DIFFERENCE: Final = "no difference of lines"
OVER_PATCH: Final = "difference over the size limit"
WHITESPACE: Final = "white space only"
DENIED_SYMBOL: Final = "denied symbol"
DROPPED: Final = "dropped by curated_files"
SECRET: Final = "secret or personal data"
LITTLE_DRIFT: Final = "like the version kept before it"

Emit = Callable[[str, bytes], None]
"""Takes a version and the JSON line of a document of it."""


@dataclass(slots=True)
class _Whole:
    """A blob that may become v2 documents: the change that made it (else the first that removed it), and its marks."""

    commit: Commit
    change: Change
    path: str
    blob: str
    marks: Marks


@dataclass(frozen=True, slots=True)
class Barred:
    """What is in no document: files that the patterns `removed` take, files that curation `dropped` at the pinned
    commit, and with `without_secrets` every text with a secret or a personal datum."""

    removed: tuple[str, ...] = ()
    dropped: frozenset[str] = frozenset()
    without_secrets: bool = False

    def rule_of(self, change: Change) -> str:
        """The name of the rule that bars the file of a change, under any of its names; "" for none."""
        names = (change.path, change.old_path, *change.names)
        if any(takes(self.removed, name) for name in names):
            return file_policy.REMOVED
        return "" if self.dropped.isdisjoint(names) else DROPPED

    def has_secret(self, text: bytes) -> bool:
        """Whether `text` has what must not be in a document."""
        return self.without_secrets and bool(finds_of(text))


@dataclass(slots=True)
class Builder:
    """Makes the documents of `versions`; `left_out` counts, by version, the changes that became none, by rule."""

    git_dir: Path
    recipe: HistoryRecipe
    versions: Sequence[str]
    origin: Origin
    files: FileVersions
    barred: Barred = field(default_factory=Barred)
    left_out: dict[str, Counter[str]] = field(default_factory=dict)
    _blobs: dict[str, _Whole] = field(default_factory=dict)

    def build(self, commits: Sequence[Commit], emit: Emit, progress: Callable[[int], None]) -> None:
        """Make every document of `commits`, which are oldest first. `progress` is told how many commits are done."""
        self.left_out = {version: Counter() for version in self.versions}
        asked = (commit.commit for commit in commits)
        patches = read_patches(self.git_dir, asked, self.recipe.context_lines)
        for done, (commit, (_, found)) in enumerate(zip(commits, _beside(commits, patches), strict=True), start=1):
            by_sides = {(patch.blob_pre, patch.blob_post): patch for patch in found}
            for change in commit.changes:
                self._change(commit, change, by_sides.get(change.sides), emit)
            progress(done)
        self._whole_files(emit)

    def _change(self, commit: Commit, change: Change, patch: Patch | None, emit: Emit) -> None:
        sides = self._sides(commit, change, patch)
        rule = sides if isinstance(sides, str) else self._forbidden(change, patch)
        for version in self.versions:
            shape, style = version.split("_")
            if shape != "v3":
                continue
            why = rule or (_over(patch, self.recipe.patch_bytes) if patch else "")
            if why or isinstance(sides, str):
                self.left_out[version][why] += 1
                continue
            pieces = render_inline(sides, HEADERS[style], full_file=self.recipe.full_file)
            emit(version, record(version, commit, change, pieces, self.origin))
        if isinstance(sides, Sides) and not rule:
            self._keep(sides)
        else:
            self._count_whole(rule)

    def _sides(self, commit: Commit, change: Change, patch: Patch | None) -> Sides | str:
        """Both versions of the file and the hunks between them, or the rule that leaves the change out."""
        pre, post = (self.files.get(blob) for blob in change.sides)
        if reason := pre.reason or post.reason:
            return reason
        hunks = list(patch.hunks()) if patch else []
        if not hunks:
            return NO_DIFFERENCE
        if change.status in "MR" and _same_words(hunks):
            return WHITESPACE
        return Sides(commit, change, pre, post, hunks)

    def _forbidden(self, change: Change, patch: Patch | None) -> str:
        """The rule that bars the file or its difference; `DENIED_SYMBOL` if the difference, or the function that git
        names for it, has a denied symbol."""
        if rule := self.barred.rule_of(change):
            return rule
        symbols = _denied_symbols(self.recipe, self.origin.repo.name, change)
        text = patch.section if patch else b""
        if self.barred.has_secret(text):
            return SECRET
        return DENIED_SYMBOL if any(symbol.search(text) for symbol in symbols) else ""

    def _count_whole(self, rule: str) -> None:
        for version in self.versions:
            if version.startswith("v2"):
                self.left_out[version][rule] += 1

    def _keep(self, sides: Sides) -> None:
        change = sides.change
        before, after = marks_of(sides)
        for blob, path, marks in ((change.blob_pre, change.old_path, before), (change.blob_post, change.path, after)):
            if not blob:
                continue
            if blob in self._blobs:
                self._blobs[blob].marks = self._blobs[blob].marks.joined(marks)
            else:
                self._blobs[blob] = _Whole(sides.commit, change, path, blob, marks)

    def _whole_files(self, emit: Emit) -> None:
        versions = [version for version in self.versions if version.startswith("v2")]
        if not versions:
            return
        kept: dict[str, frozenset[bytes]] = {}
        for whole in self._blobs.values():
            version = self.files.get(whole.blob)
            lines = frozenset(version.data.split(b"\n"))
            name = whole.change.names[0]
            if name in kept and similarity(kept[name], lines) >= self.recipe.drift:
                self._count_whole(LITTLE_DRIFT)
                continue
            symbols = _denied_symbols(self.recipe, self.origin.repo.name, whole.change)
            denied = any(symbol.search(version.data) for symbol in symbols)
            if denied or self.barred.has_secret(version.data):
                self._count_whole(DENIED_SYMBOL if denied else SECRET)
                continue
            kept[name] = lines
            for name_of_version in versions:
                pieces = Pieces()
                pieces.synthetic(HEADERS[name_of_version.split("_")[1]](None, whole.change, whole.path))
                pieces.chunk(0, "comment", whole.path)
                add_file(pieces, Source(whole.path, whole.blob, 0, len(version.data)), version, whole.marks)
                emit(name_of_version, record(name_of_version, whole.commit, whole.change, pieces, self.origin))


def _beside(commits: Sequence[Commit], patches: Iterator[tuple[str, list[Patch]]]) -> Iterator[tuple[str, list[Patch]]]:
    """The patches of each of `commits`; git leaves out a commit without any difference."""
    following = next(patches, None)
    for commit in commits:
        if following is not None and following[0] == commit.commit:
            yield following
            following = next(patches, None)
        else:
            yield commit.commit, []


def _over(patch: Patch, most: int) -> str:
    return OVER_PATCH if patch.changed_bytes > most else ""


def _same_words(hunks: Sequence[Sequence[Line]]) -> bool:
    """Whether both sides of every hunk are the same but for white space."""
    return all(_words(hunk, REMOVED) == _words(hunk, ADDED) for hunk in hunks)


def _words(hunk: Sequence[Line], kind: int) -> bytes:
    return b"".join(word for line in hunk if line.kind == kind for word in line.text.split())


def _denied_symbols(recipe: HistoryRecipe, name: str, change: Change) -> list[re.Pattern[bytes]]:
    """The words by which the denied symbols of the file of `change` are found."""
    names: Mapping[str, None] = dict.fromkeys((*change.names, change.path, change.old_path))
    found = []
    for entry in recipe.denied_symbols:
        repository, path, symbol = entry.split(":", 2)
        if repository == name and path in names:
            found.append(re.compile(rb"\b" + re.escape(symbol.rpartition("::")[2].encode()) + rb"\b"))
    return found
