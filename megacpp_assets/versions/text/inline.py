"""v3: the inline difference of one file of one commit. Removed lines are comments, added lines are live (seed 002)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.names import (
    CONTEXT_OP,
    CONTEXT_ROLE,
    INSERTED_OP,
    MODIFIED_OP,
    REMOVED_OP,
    ROOT_ROLE,
)
from megacpp_assets.contract.sources.commit import Change, Commit
from megacpp_assets.versions.files import FileVersion
from megacpp_assets.versions.patches import ADDED, CONTEXT, REMOVED, Hunk, Stretch
from megacpp_assets.versions.text.headers import CHANGES_HEAD, FULL_FILE_HEAD, Header
from megacpp_assets.versions.text.pieces import Edit, Pieces, Source
from megacpp_assets.versions.text.whole import Marks, add_file

REMOVED_PREFIX: Final = "// Removed: "


@dataclass(frozen=True, slots=True)
class Sides:
    """One change of a commit with both versions of its file and the hunks between them."""

    commit: Commit
    change: Change
    pre: FileVersion
    post: FileVersion
    hunks: Sequence[Hunk]

    def file(self, stretch: Stretch) -> tuple[FileVersion, int]:
        """Return the version that has the lines of a stretch, and the first of them there."""
        return (self.pre, stretch.pre) if stretch.kind == REMOVED else (self.post, stretch.post)

    def text(self, stretch: Stretch) -> bytes:
        """Return the lines of a stretch."""
        version, first = self.file(stretch)
        start, end = version.span(first, stretch.lines)
        return version.data[start:end]

    def side(self, hunk: Hunk, other: int) -> bytes:
        """Return the lines of a hunk without those that are `other`: REMOVED for the side after the commit."""
        return b"".join(self.text(stretch) for stretch in hunk if stretch.kind != other)

    def shows_over(self, most: int) -> bool:
        """Return whether all hunks, with a mark before each line, have more than `most` bytes."""
        both = (self.pre, self.post)
        if sum(len(version.data) + version.lines for version in both) <= most:
            return False
        return sum(len(self.text(stretch)) + stretch.lines for hunk in self.hunks for stretch in hunk) > most


def render_inline(sides: Sides, header: Header, *, full_file: bool) -> Pieces:
    """Return the v3 document of a change. With `full_file` the whole file after the commit follows its hunks."""
    change, pieces = sides.change, Pieces()
    pieces.synthetic(header(sides.commit, change, change.path))
    pieces.chunk(0, "comment", change.path)
    pieces.synthetic(CHANGES_HEAD)
    for number, hunk in enumerate(sides.hunks):
        start = pieces.length
        _add_hunk(pieces, sides, number, hunk)
        pieces.chunk(start, "other", f"hunk {number}")
    if full_file and change.blob_post:
        pieces.synthetic(FULL_FILE_HEAD)
        add_file(pieces, Source(change.path, change.blob_post, 0, len(sides.post.data)), sides.post, marks_of(sides)[1])
    return pieces


def _add_hunk(pieces: Pieces, sides: Sides, number: int, hunk: Hunk) -> None:
    change = sides.change
    pieces.synthetic(f"// {hunk_head(hunk)}\n", Edit(hunk=number))
    for stretch, edit in edits_of(hunk, number):
        if stretch.kind == REMOVED:
            add_removed(pieces, sides, stretch, edit)
            continue
        start, end = sides.post.span(stretch.post, stretch.lines)
        role = CONTEXT_ROLE if stretch.kind == CONTEXT else ROOT_ROLE
        text = sides.post.data[start:end]
        pieces.of_file(text.decode(), Source(change.path, change.blob_post, start, end), edit, role)
        if not text.endswith(b"\n"):
            pieces.synthetic("\n", edit)


def add_removed(pieces: Pieces, sides: Sides, stretch: Stretch, edit: Edit) -> None:
    """Add the removed lines of a stretch, each as a comment with a line end."""
    start, end = sides.pre.span(stretch.pre, stretch.lines)
    *lines, last = sides.pre.data[start:end].decode().split("\n")
    lines = [f"{line}\n" for line in lines] + ([last] if last else [])
    source = Source(sides.change.old_path, sides.change.blob_pre, start, end)
    pieces.removed_lines(REMOVED_PREFIX, lines, source, edit, ROOT_ROLE)
    if last:
        pieces.synthetic("\n", edit)


def hunk_head(hunk: Hunk) -> str:
    """Return `@@ -12,3 +12,4 @@`: the first line, from 1, and the number of lines, before and after."""
    before = sum(stretch.lines for stretch in hunk if stretch.kind != ADDED)
    after = sum(stretch.lines for stretch in hunk if stretch.kind != REMOVED)
    return f"@@ -{hunk[0].pre + (before > 0)},{before} +{hunk[0].post + (after > 0)},{after} @@"


def edits_of(hunk: Hunk, number: int) -> Iterator[tuple[Stretch, Edit]]:
    """Yield each stretch of a hunk with its edit. Added lines directly after removed ones are modified lines."""
    before = CONTEXT
    for stretch in hunk:
        if stretch.kind == CONTEXT:
            yield stretch, Edit(0, 0, number, CONTEXT_OP)
        elif stretch.kind == REMOVED:
            yield stretch, Edit(1, 0, number, REMOVED_OP)
        else:
            yield stretch, Edit(0, 1, number, MODIFIED_OP if before == REMOVED else INSERTED_OP)
        before = stretch.kind


def marks_of(sides: Sides) -> tuple[Marks, Marks]:
    """Return the edits of the lines of the version before the commit, and of those of the version after it."""
    before, after = Marks(), Marks()
    for number, hunk in enumerate(sides.hunks):
        for stretch, edit in edits_of(hunk, number):
            if stretch.kind == REMOVED:
                before.add(stretch.pre, edit, stretch.lines)
            elif stretch.kind == ADDED:
                after.add(stretch.post, edit, stretch.lines)
    return before, after
