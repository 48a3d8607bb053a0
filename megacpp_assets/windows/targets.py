"""The changes of a commit in a file by line of the version after it: added and removed lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from megacpp_assets.versions.files import FileVersion
from megacpp_assets.versions.patches import ADDED, REMOVED, Stretch
from megacpp_assets.versions.text.inline import Sides, add_removed, edits_of
from megacpp_assets.versions.text.pieces import NO_EDIT, Edit, Pieces, Source
from megacpp_assets.windows.code_graph import DefinitionLines, DefinitionPlace


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits of one file, in the order of lines.

    `added` has the edit of each added line, `removed` the removed lines by the number of the line that now follows
    them.
    """

    added: dict[int, Edit]
    removed: dict[int, list[tuple[Stretch, Edit]]]
    lines: tuple[int, ...] = ()
    """Added lines, and lines directly after removed ones."""

    def touch(self, first: int, end: int) -> bool:
        """Return whether the commit changed the lines [first, end), or removed lines between them."""
        place = bisect_left(self.lines, first)
        if place < len(self.lines) and self.lines[place] == first and first not in self.added:
            place += 1  # lines before the first one were removed, so the function itself is unchanged
        return place < len(self.lines) and self.lines[place] < end

    def distance(self, line: int) -> int:
        """Return the number of lines from `line` to the nearest change."""
        place = bisect_left(self.lines, line)
        return min((abs(line - near) for near in self.lines[max(place - 1, 0) : place + 1]), default=0)


NO_EDITS: Final = Edits({}, {})


def edits_by_line(sides: Sides) -> Edits:
    """Return the edits of one change."""
    added: dict[int, Edit] = {}
    removed: dict[int, list[tuple[Stretch, Edit]]] = {}
    for number, hunk in enumerate(sides.hunks):
        for stretch, edit in edits_of(hunk, number):
            if stretch.kind == ADDED:
                added |= dict.fromkeys(range(stretch.post, stretch.post + stretch.lines), edit)
            elif stretch.kind == REMOVED:
                removed.setdefault(stretch.post, []).append((stretch, edit))
    return Edits(added, removed, tuple(sorted(added.keys() | removed.keys())))


def line_of(version: FileVersion, offset: int) -> int:
    """Return the line, from 0, of a byte of a file."""
    return int(version.starts.searchsorted(offset, side="right")) - 1


def modified(functions: Iterable[tuple[DefinitionPlace, DefinitionLines]], edits: Edits) -> list[DefinitionPlace]:
    """Return the functions that the commit changed or added, in order."""
    return [place for place, node in functions if edits.touch(node.first, node.end)]


@dataclass(frozen=True, slots=True)
class EditedLines:
    """The lines [first, end) of a file version, with their edits."""

    source: Source
    version: FileVersion
    first: int
    end: int
    edits: Edits = NO_EDITS

    @property
    def bytes(self) -> tuple[int, int]:
        """The offsets of the start and the end of the lines."""
        return int(self.version.starts[self.first]), int(self.version.starts[self.end])

    @property
    def text(self) -> str:
        """The lines as they are after the commit; the last one has a line end."""
        low, high = self.bytes
        text = self.version.data[low:high].decode()
        return text if text.endswith("\n") else f"{text}\n"

    def add_to(self, pieces: Pieces, role: int, shown: Sides | None = None) -> None:
        """Add the lines to a document.

        With `shown`, the change of this file, lines that the commit removed are shown as comments at their place. A
        removed line above the first line is shown if that line replaces it.
        """
        if not self.edits.lines:
            self._add_lines(pieces, role, self.first, self.end)
            return
        start = self.first
        for line in range(self.first, self.end):
            replaced = line > self.first or line in self.edits.added
            gone = self.edits.removed.get(line, []) if replaced and shown else []
            if gone or self.edits.added.get(line, NO_EDIT) != self.edits.added.get(start, NO_EDIT):
                self._add_lines(pieces, role, start, line)
                start = line
            if shown:
                for removed, edit in gone:
                    add_removed(pieces, shown, removed, edit)
        self._add_lines(pieces, role, start, self.end)

    def _add_lines(self, pieces: Pieces, role: int, first: int, end: int) -> None:
        low, high = int(self.version.starts[first]), int(self.version.starts[end])
        if low == high:
            return
        edit = self.edits.added.get(first, NO_EDIT)
        part = self.source._replace(byte_start=low, byte_end=high)
        pieces.of_file(self.version.data[low:high].decode(), part, edit, role)
        if self.version.data[high - 1 : high] != b"\n":
            pieces.synthetic("\n", edit)
