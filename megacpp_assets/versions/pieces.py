"""Builds a document from pieces of text in order, each with its source and its edit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.names import NO_HUNK, SYNTHETIC_ROLE, UNCHANGED_OP


class Edit(NamedTuple):
    """The edit of a piece by a commit: masks of the side before and after, hunk number, edit operation."""

    pre: int = 0
    post: int = 0
    hunk: int = NO_HUNK
    operation: int = UNCHANGED_OP


NO_EDIT = Edit()


class Source(NamedTuple):
    """The source of a piece: the path of a file, its blob, and a range of bytes."""

    path: str
    blob: str
    byte_start: int
    byte_end: int


@dataclass(slots=True)
class Pieces:
    """The text so far, with the edits, roles and sources of its characters.

    Neighbours with equal values are one run.
    """

    texts: list[str] = field(default_factory=list)
    length: int = 0
    _runs: list[tuple[int, Edit]] = field(default_factory=list)
    _roles: list[tuple[int, int]] = field(default_factory=list)
    _parts: list[dict[str, Any]] = field(default_factory=list)
    _chunks: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    """Call edges between chunks, by their numbers."""
    types: list[dict[str, Any]] = field(default_factory=list)
    """Type edges between chunks, by their numbers."""
    span: tuple[int, int] | None = None
    """The byte range of the document's target in its file; None for all bytes of that file that the document has."""

    def synthetic(self, text: str, edit: Edit = NO_EDIT) -> None:
        """Add text that is in no file."""
        self._add(text, edit, SYNTHETIC_ROLE)

    def of_file(self, text: str, source: Source, edit: Edit, role: int) -> None:
        """Add `text`, which is exactly the bytes of `source` in UTF-8."""
        start = self.length
        self._add(text, edit, role)
        last = self._parts[-1] if self._parts else None
        if (
            last is not None
            and (last["blob"], last["filepath"], last["role"]) == (source.blob, source.path, role)
            and (last["byte_end"], last["char_end"]) == (source.byte_start, start)
        ):
            last["byte_end"], last["char_end"] = source.byte_end, self.length
            return
        self._parts.append(
            {
                "filepath": source.path, "byte_start": source.byte_start, "byte_end": source.byte_end,
                "char_start": start, "char_end": self.length, "role": role, "blob": source.blob,
            }
        )  # fmt: skip

    def _add(self, text: str, edit: Edit, role: int) -> None:
        count = len(text)
        self.texts.append(text)
        self.length += count
        for runs, value in ((self._runs, edit), (self._roles, role)):
            if runs and runs[-1][1] == value:
                runs[-1] = (runs[-1][0] + count, value)  # type: ignore[assignment]
            else:
                runs.append((count, value))  # type: ignore[arg-type]

    def chunk(self, start: int, kind: str, name: str, level: int = 0) -> None:
        """Make the text from `start` on a chunk with dependency `level`. An empty text makes no chunk."""
        if start < self.length:
            self._chunks.append(
                {
                    "char_offset": start, "char_end": self.length, "kind": kind, "name": name, "dep_level": level,
                    "is_leaf": level == 0,
                }
            )  # fmt: skip

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.texts)

    @property
    def changes(self) -> list[list[int]]:
        """Runs of the JSONL key `changes`: characters, mask before, mask after, hunk, edit operation."""
        return [[count, *edit] for count, edit in self._runs if count]

    @property
    def roles(self) -> NDArray[np.uint8]:
        """The role of each character."""
        values = np.array([role for _, role in self._roles], dtype=np.uint8)
        return np.repeat(values, [count for count, _ in self._roles])

    @property
    def constituents(self) -> list[dict[str, Any]]:
        """The sources of all parts that come from files."""
        return self._parts

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """The chunks, in order."""
        return self._chunks


def comment_lines(text: str) -> Iterator[str]:
    """Yield the lines of `text` without character sequences that would end a comment."""
    for line in text.split("\n"):
        yield line.replace("*/", "* /").rstrip().rstrip("\\").rstrip()
