"""Expands response files (`@path`) of a compile database, within limits.

Only a regular file of the tree is read. One that is missing, outside or over a limit is dropped and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from megacpp_assets.semantic.tree.tree_paths import TreePaths

MAX_BYTES = 1 << 20
MAX_DEPTH = 4
"""The depth to which response files may name others. Circles are rejected."""
_BOM = "\ufeff"

Split = Callable[[str], Sequence[str] | None]
"""Splits a text into words; None if a quote stays open."""


class ResponseFiles:
    """The response files of one tree. Each is read once."""

    def __init__(self, paths: TreePaths) -> None:
        self._paths = paths
        self._texts: dict[str, str | None] = {}

    def expand(self, words: Sequence[str], base: str, split: Split, limit: int) -> tuple[list[str], bool]:
        """Return the first `limit` of `words` after expansion, and whether every response file was read.

        `base` is the tree-relative folder in which the command runs.
        """
        unread: list[str] = []
        expanded: list[str] = []
        for word in self._expanded(words, (base, split), (), unread):
            if len(expanded) == limit:
                break
            expanded.append(word)
        return expanded, not unread

    def _expanded(
        self, words: Sequence[str], how: tuple[str, Split], within: tuple[str, ...], unread: list[str]
    ) -> Iterator[str]:
        base, split = how
        for word in words:
            if not word.startswith("@") or len(word) == 1:
                yield word
                continue
            path = self._paths.file(word[1:].replace("\\", "/"), base)
            text = self._text(path) if path and path not in within and len(within) < MAX_DEPTH else None
            inner = None if text is None else split(text)
            if path is None or inner is None:
                unread.append(word)
            else:
                yield from self._expanded(inner, how, (*within, path), unread)

    def _text(self, path: str) -> str | None:
        if path not in self._texts:
            file = Path(self._paths.tree, path)
            small = file.stat().st_size <= MAX_BYTES
            self._texts[path] = file.read_bytes().decode("utf-8", "replace").removeprefix(_BOM) if small else None
        return self._texts[path]
