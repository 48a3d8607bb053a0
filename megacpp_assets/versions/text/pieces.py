"""Builds a document from pieces of text in order, each with its source and its edit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

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
_ROLE_BYTES: Final = [bytes([role]) for role in range(256)]


class Source(NamedTuple):
    """The source of a piece: the path of a file, its blob, and a range of bytes."""

    path: str
    blob: str
    byte_start: int
    byte_end: int


@dataclass(slots=True)
class Pieces:
    """The text so far, with the edits, roles and sources of its characters.

    Neighbours with equal edits are one run.
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

    def removed_lines(self, prefix: str, lines: Sequence[str], source: Source, edit: Edit, role: int) -> None:
        """Add each of `lines`, which together are exactly the bytes of `source`, behind a synthetic `prefix`."""
        at, byte = self.length, source.byte_start
        ascii_only = sum(map(len, lines)) == source.byte_end - source.byte_start
        for line in lines:
            begin = at + len(prefix)
            at = begin + len(line)
            end = byte + (len(line) if ascii_only else len(line.encode()))
            self._parts.append(
                {
                    "filepath": source.path, "byte_start": byte, "byte_end": end,
                    "char_start": begin, "char_end": at, "role": role, "blob": source.blob,
                }
            )  # fmt: skip
            byte = end
            self._roles += ((len(prefix), SYNTHETIC_ROLE), (len(line), role))
        self.texts.append(prefix + prefix.join(lines))
        self._run(at - self.length, edit)
        self.length = at

    def _add(self, text: str, edit: Edit, role: int) -> None:
        count = len(text)
        self.texts.append(text)
        self.length += count
        self._roles.append((count, role))
        self._run(count, edit)

    def _run(self, count: int, edit: Edit) -> None:
        runs = self._runs
        if runs and runs[-1][1] == edit:
            runs[-1] = (runs[-1][0] + count, edit)
        else:
            runs.append((count, edit))

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
        return np.frombuffer(b"".join([_ROLE_BYTES[role] * count for count, role in self._roles]), dtype=np.uint8)

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
