"""Stores the parses of a tree's files in a scratch file, because cursors and symbols take several bytes a character."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.tree.stored_by_path import StoredByPath


class ParsedStore(StoredByPath[ParsedFile]):
    """The parse of each file by its path. The scratch file is in `folder`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "parsed.bin")
        self.reasons: dict[str, str] = {}
        """The reasons of failed parses by path."""

    def __setitem__(self, path: str, parsed: ParsedFile) -> None:
        super().__setitem__(path, parsed)
        self.reasons.pop(path, None)
        self.reasons |= {path: parsed.reason} if parsed.reason else {}
