"""v3: the inline difference of one file of one commit. Removed lines are comments, added lines are live (seed 002)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
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
from megacpp_assets.versions.headers import CHANGES_HEAD, FULL_FILE_HEAD, Header
from megacpp_assets.versions.patches import ADDED, CONTEXT, REMOVED, PatchLine
from megacpp_assets.versions.pieces import Edit, Pieces, Source
from megacpp_assets.versions.whole import Marks, add_file

REMOVED_PREFIX: Final = "// Removed: "


@dataclass(frozen=True, slots=True)
class Sides:
    """One change of a commit with both versions of its file and the hunks between them."""

    commit: Commit
    change: Change
    pre: FileVersion
    post: FileVersion
    hunks: Sequence[Sequence[PatchLine]]


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


def _add_hunk(pieces: Pieces, sides: Sides, number: int, hunk: Sequence[PatchLine]) -> None:
    change = sides.change
    pieces.synthetic(f"// {hunk_head(hunk)}\n", Edit(hunk=number))
    for line, edit in edits_of(hunk, number):
        version, blob, path, place = (
            (sides.pre, change.blob_pre, change.old_path, line.pre)
            if line.kind == REMOVED
            else (sides.post, change.blob_post, change.path, line.post)
        )
        start = int(version.starts[place])
        if line.kind == REMOVED:
            pieces.synthetic(REMOVED_PREFIX, edit)
        role = CONTEXT_ROLE if line.kind == CONTEXT else ROOT_ROLE
        pieces.of_file(line.text.decode(), Source(path, blob, start, start + len(line.text)), edit, role)
        if not line.text.endswith(b"\n"):
            pieces.synthetic("\n", edit)


def hunk_head(hunk: Sequence[PatchLine]) -> str:
    """Return `@@ -12,3 +12,4 @@`: the first line, from 1, and the number of lines, before and after."""
    before = sum(line.kind != ADDED for line in hunk)
    after = sum(line.kind != REMOVED for line in hunk)
    return f"@@ -{hunk[0].pre + (before > 0)},{before} +{hunk[0].post + (after > 0)},{after} @@"


def edits_of(hunk: Sequence[PatchLine], number: int) -> Iterator[tuple[PatchLine, Edit]]:
    """Yield each line of a hunk with its edit. An added line next to removed ones is a modified line."""
    for changed, group in groupby(hunk, key=lambda line: line.kind != CONTEXT):
        lines = list(group)
        if not changed:
            yield from ((line, Edit(0, 0, number, CONTEXT_OP)) for line in lines)
            continue
        replaces = any(line.kind == REMOVED for line in lines)
        added = Edit(0, 1, number, MODIFIED_OP if replaces else INSERTED_OP)
        removed = Edit(1, 0, number, REMOVED_OP)
        yield from ((line, removed if line.kind == REMOVED else added) for line in lines)


def marks_of(sides: Sides) -> tuple[Marks, Marks]:
    """Return the edits of the lines of the version before the commit, and of those of the version after it."""
    before, after = Marks(), Marks()
    for number, hunk in enumerate(sides.hunks):
        for line, edit in edits_of(hunk, number):
            if line.kind == REMOVED:
                before.add(line.pre, edit)
            elif line.kind == ADDED:
                after.add(line.post, edit)
    return before, after
