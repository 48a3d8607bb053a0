"""Response files (`@path`) of a compile database: their words in the place of their names, within limits.

Only a regular file of the tree is read. One that is missing, outside or over a limit is left out, and that is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from megacpp_assets.semantic.tree.tree_paths import TreePaths

MAX_BYTES = 1 << 20
MAX_DEPTH = 4
"""A response file may name others: so deep, and not in a circle."""
_BOM = "\ufeff"

Split = Callable[[str], Sequence[str] | None]
"""A text into words, None where it has an open quote."""


class ResponseFiles:
    """The response files of one tree; each is read once."""

    def __init__(self, paths: TreePaths) -> None:
        self._paths = paths
        self._texts: dict[str, str | None] = {}

    def expand(self, words: Sequence[str], base: str, split: Split, limit: int) -> tuple[list[str], bool]:
        """The first `limit` of `words` with those of response files among them; whether each of those was read.

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
