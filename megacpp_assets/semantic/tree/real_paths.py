"""Where paths really lie: what `os.path.realpath` gives, with a look at each folder's links but once."""

from __future__ import annotations

import os

_ODD_NAMES = frozenset({"", ".", ".."})


class RealPaths:
    """Paths relative to `root`, or absolute, and whether they lie below it.

    For as long as no folder becomes a link: everyone who asks has one of its own, for one piece of work.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._folders: dict[str, str] = {}

    def of(self, path: str) -> str:
        """`path` without links and dots."""
        cut = path.rfind(os.sep) + 1
        folder, name = path[:cut], path[cut:]
        if folder not in self._folders:
            real_folder = os.path.realpath(os.path.join(self.root, folder))
            self._folders[folder] = os.path.join(real_folder, "")
        real = self._folders[folder] + name
        return os.path.realpath(real) if name in _ODD_NAMES or os.path.islink(real) else real

    def inside(self, path: str) -> bool:
        """Return whether `path` lies below the root, whatever links lead there."""
        return self.of(path).startswith(self.root + os.sep)
