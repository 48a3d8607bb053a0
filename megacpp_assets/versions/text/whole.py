"""v2: whole file versions of a history, each distinct blob once, with the lines that the commits around it changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from megacpp_assets.contract.names import ROOT_ROLE
from megacpp_assets.versions.files import FileVersion
from megacpp_assets.versions.text.pieces import NO_EDIT, Edit, Pieces, Source


@dataclass(slots=True)
class Marks:
    """Edits of lines of one file version, as runs (first line, line after the last, edit) in line order."""

    runs: list[tuple[int, int, Edit]] = field(default_factory=list)

    def add(self, line: int, edit: Edit, count: int = 1) -> None:
        """Mark `count` lines after all marked ones."""
        if self.runs and self.runs[-1][1] == line and self.runs[-1][2] == edit:
            self.runs[-1] = (self.runs[-1][0], line + count, edit)
        else:
            self.runs.append((line, line + count, edit))

    def joined(self, other: Marks) -> Marks:
        """Return the marks of both. A line that both mark keeps the hunk and operation of `self`."""
        edits = {line: edit for first, end, edit in other.runs for line in range(first, end)}
        for first, end, edit in self.runs:
            for line in range(first, end):
                earlier = edits.get(line, NO_EDIT)
                edits[line] = edit._replace(pre=edit.pre | earlier.pre, post=edit.post | earlier.post)
        both = Marks()
        for line in sorted(edits):
            both.add(line, edits[line])
        return both


def add_file(pieces: Pieces, source: Source, version: FileVersion, marks: Marks) -> None:
    """Add all of `version`, which is the blob of `source`, as one chunk."""
    start = pieces.length
    for first, end, edit in _stretches(marks, version.lines):
        low, high = int(version.starts[first]), int(version.starts[end])
        part = source._replace(byte_start=low, byte_end=high)
        pieces.of_file(version.data[low:high].decode(), part, edit, ROOT_ROLE)
    pieces.chunk(start, "other", source.path)


def _stretches(marks: Marks, lines: int) -> Iterator[tuple[int, int, Edit]]:
    done = 0
    for first, end, edit in marks.runs:
        if done < first:
            yield done, first, NO_EDIT
        yield first, end, edit
        done = end
    if done < lines:
        yield done, lines, NO_EDIT


def similarity(one: frozenset[bytes], other: frozenset[bytes]) -> float:
    """Return the Jaccard similarity of two versions as sets of lines; 1 for two empty ones."""
    union = len(one | other)
    return len(one & other) / union if union else 1.0
