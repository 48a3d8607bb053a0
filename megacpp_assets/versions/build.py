"""From listed commits to the documents of each version: one pass over the changes, then one over the blobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from megacpp_assets.contract.sources.commit import Change, Commit
from megacpp_assets.versions.judge import ChangeRules
from megacpp_assets.versions.records import LineOrigin, names_of, record
from megacpp_assets.versions.text.headers import HEADERS
from megacpp_assets.versions.text.inline import Sides, marks_of, render_inline
from megacpp_assets.versions.text.pieces import Pieces, Source
from megacpp_assets.versions.text.whole import Marks, add_file, similarity

OVER_PATCH: Final = "difference over the size limit"
LITTLE_DRIFT: Final = "like the version kept before it"

Emit = Callable[[str, bytes], None]
"""Receives a version and the JSON line of one of its documents."""


@dataclass(slots=True)
class _Whole:
    """A blob that may become v2 documents, its marks, and the change that added it, else removed it first."""

    commit: Commit
    change: Change
    path: str
    blob: str
    marks: Marks


@dataclass(slots=True)
class VersionBuilder:
    """Makes the documents of `versions`. `left_out` counts the changes without a document, by version and rule."""

    versions: Sequence[str]
    origin: LineOrigin
    judge: ChangeRules
    left_out: dict[str, Counter[str]] = field(default_factory=dict)
    _blobs: dict[str, _Whole] = field(default_factory=dict)

    def build(self, commits: Sequence[Commit], emit: Emit, progress: Callable[[int], None]) -> None:
        """Make every document of `commits`, oldest first. `progress` receives the number of commits that are done."""
        self.left_out = {version: Counter() for version in self.versions}
        for done, commit in enumerate(commits, start=1):
            for change in commit.changes:
                self._change(commit, change, emit)
            progress(done)
        self._whole_files(emit)

    def _change(self, commit: Commit, change: Change, emit: Emit) -> None:
        sides = self.judge.sides_of(commit, change, self.judge.recipe.context_lines)
        rule = sides if isinstance(sides, str) else self.judge.bars(sides)
        if isinstance(sides, str) or rule:
            for version in self.versions:
                self.left_out[version][rule] += 1
            return
        inline = [version for version in self.versions if version.startswith("v3")]
        reason = self._rule_of_text(sides) if inline else ""
        for version in inline:
            if reason:
                self.left_out[version][reason] += 1
                continue
            header = HEADERS[version.split("_")[1]]
            pieces = render_inline(sides, header, full_file=self.judge.recipe.full_file)
            emit(version, record(version, commit, change, pieces, self.origin))
        if self._whole_versions():
            self._keep(sides)

    def _rule_of_text(self, sides: Sides) -> str:
        """Return the rule that leaves out a v3 document because of the text that it shows; "" if none does."""
        if sides.shows_over(self.judge.recipe.patch_bytes):
            return OVER_PATCH
        rule = self.judge.bars_hunks(sides)
        if not rule and self.judge.recipe.full_file and sides.change.blob_post:
            return self.judge.bars_text(names_of(sides.change), sides.post.data)
        return rule

    def _whole_versions(self) -> list[str]:
        return [version for version in self.versions if version.startswith("v2")]

    def _count_whole(self, rule: str) -> None:
        for version in self._whole_versions():
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
        versions = self._whole_versions()
        kept: dict[str, frozenset[bytes]] = {}
        for whole in self._blobs.values():
            version = self.judge.files.get(whole.blob)
            lines = frozenset(version.data.split(b"\n"))
            name = whole.change.names[0]
            if name in kept and similarity(kept[name], lines) >= self.judge.recipe.drift:
                self._count_whole(LITTLE_DRIFT)
                continue
            if rule := self.judge.bars_text(names_of(whole.change), version.data):
                self._count_whole(rule)
                continue
            kept[name] = lines
            for name_of_version in versions:
                pieces = Pieces()
                pieces.synthetic(HEADERS[name_of_version.split("_")[1]](None, whole.change, whole.path))
                pieces.chunk(0, "comment", whole.path)
                add_file(pieces, Source(whole.path, whole.blob, 0, len(version.data)), version, whole.marks)
                emit(name_of_version, record(name_of_version, whole.commit, whole.change, pieces, self.origin))
