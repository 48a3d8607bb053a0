"""Resolves paths: the result of `os.path.realpath`, with only one look at the links of each folder."""

from __future__ import annotations

import os

_ODD_NAMES = frozenset({"", ".", ".."})


class RealPaths:
    """Resolves paths relative to `root`, or absolute ones, and says whether they are below it.

    An object is for one piece of work, and for as long as no folder becomes a link.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._folders: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return `path` without links and dots."""
        cut = path.rfind(os.sep) + 1
        folder, name = path[:cut], path[cut:]
        if folder not in self._folders:
            real_folder = os.path.realpath(os.path.join(self.root, folder))
            self._folders[folder] = os.path.join(real_folder, "")
        real = self._folders[folder] + name
        return os.path.realpath(real) if name in _ODD_NAMES or os.path.islink(real) else real

    def inside(self, path: str) -> bool:
        """Return whether `path` is below the root after all links are resolved."""
        return self.of(path).startswith(self.root + os.sep)
