"""Paths that a compile database or a source names, resolved to the tree or refused: nothing outside gets through."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass

_PRECOMPILED = (".pch", ".gch")
MAX_PARTS = 128
_LENGTH = 4096
_UNNAMEABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TreePaths:
    """Resolves paths against `tree` (an absolute real path).

    `source_root` is the absolute path under which a compile database knows the tree, where that is another one.
    """

    tree: str
    source_root: str = ""

    def folder(self, path: str, base: str = "") -> str | None:
        """Tree-relative form of an existing folder of the tree (`.` for the tree itself), else None."""
        inside = self.inside(path, base)
        return inside if inside is not None and os.path.isdir(self._absolute(inside)) else None

    def file(self, path: str, base: str = "") -> str | None:
        """Tree-relative form of an existing regular file of the tree, else None.

        A file beside which a precompiled form of it lies is refused: the compiler would load that instead.
        """
        inside = self.inside(path, base)
        if inside is None or not os.path.isfile(self._absolute(inside)):
            return None
        return None if any(os.path.lexists(self._absolute(inside + ending)) for ending in _PRECOMPILED) else inside

    def inside(self, path: str, base: str = "") -> str | None:
        """Normalised tree-relative form of `path`, itself relative to the tree's folder `base`, or None if outside."""
        whole = posixpath.join(base, path)
        # Resolving costs a look at the disk per part: what no real tree needs is not resolved at all.
        if not path or _UNNAMEABLE.search(whole) or len(whole) > _LENGTH or whole.count("/") > MAX_PARTS:
            return None
        relative = self._relative(whole)
        if relative is None:
            return None
        real = os.path.realpath(self._absolute(relative))
        return relative if real == self.tree or real.startswith(self.tree + os.sep) else None

    def _relative(self, path: str) -> str | None:
        normal = posixpath.normpath(path)
        if posixpath.isabs(normal):
            for root in (self.source_root, self.tree):
                if root and (normal == root or normal.startswith(root.rstrip("/") + "/")):
                    normal = posixpath.relpath(normal, root)
                    break
            else:
                return None
        return None if normal == ".." or normal.startswith("../") else normal

    def _absolute(self, relative: str) -> str:
        return os.path.join(self.tree, relative)
