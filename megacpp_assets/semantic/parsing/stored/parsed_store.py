"""Stores the parses of a tree's files in a scratch file, because cursors and symbols take several bytes a character."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, MutableMapping
from os import pread
from pathlib import Path

from megacpp_assets.semantic.parsing.parsed import ParsedFile


class ParsedStore(MutableMapping[str, ParsedFile]):
    """The parse of each file by its path. The scratch file is in `folder`; a replaced parse still takes its room."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "parsed.bin").open("w+b")
        self._places: dict[str, tuple[int, int]] = {}
        self.reasons: dict[str, str] = {}
        """The reasons of failed parses by path."""
        self._written = 0

    def __setitem__(self, path: str, parsed: ParsedFile) -> None:
        data = pickle.dumps(parsed, pickle.HIGHEST_PROTOCOL)
        self._file.write(data)
        self._places[path] = self._written, len(data)
        self._written += len(data)
        self.reasons.pop(path, None)
        self.reasons |= {path: parsed.reason} if parsed.reason else {}

    def __getitem__(self, path: str) -> ParsedFile:
        start, size = self._places[path]
        self._file.flush()
        parsed: ParsedFile = pickle.loads(pread(self._file.fileno(), size, start))  # noqa: S301 - written above
        return parsed

    def __delitem__(self, path: str) -> None:
        del self._places[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
