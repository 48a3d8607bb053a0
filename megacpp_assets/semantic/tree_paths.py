"""Paths that a compile database or a source names, resolved to the tree or refused: nothing outside gets through but
folders of the toolchain's own headers, which every source may include anyway."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass

PRECOMPILED = (".pch", ".gch")
"""Endings under which the compiler looks for a precompiled form of a header that `-include` names."""
MAX_PARTS = 128
_LENGTH = 4096
_UNNAMEABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TreePaths:
    """Resolves paths against `tree` (an absolute real path).

    `source_root` is the absolute path under which a compile database knows the tree, where that is another one;
    `header_roots` are the folders (real paths) whose headers the compiler shows to every source.
    """

    tree: str
    source_root: str = ""
    header_roots: tuple[str, ...] = ()

    def folder(self, path: str, base: str = "") -> str | None:
        """Tree-relative form of an existing folder of the tree (`.` for the tree itself), else None.

        A folder below one of the header roots has its real, absolute path; they themselves are searched in any case.
        """
        inside = self.inside(path, base)
        if inside is None:
            return self._of_toolchain(path)
        return inside if os.path.isdir(self._absolute(inside)) else None

    def file(self, path: str, base: str = "") -> str | None:
        """Tree-relative form of an existing regular file of the tree, else None.

        A file beside which a precompiled form of it lies is refused: the compiler would load that instead.
        """
        inside = self.inside(path, base)
        if inside is None or not os.path.isfile(self._absolute(inside)):
            return None
        return None if any(os.path.lexists(self._absolute(inside + ending)) for ending in PRECOMPILED) else inside

    def inside(self, path: str, base: str = "") -> str | None:
        """Normalised tree-relative form of `path`, itself relative to the tree's folder `base`, or None if outside."""
        whole = posixpath.join(base, path)
        # Resolving costs a look at the disk per part: what no real tree needs is not resolved at all.
        if not path or not _resolvable(whole):
            return None
        relative = self._relative(whole)
        if relative is None:
            return None
        real = os.path.realpath(self._absolute(relative))
        return relative if real == self.tree or real.startswith(self.tree + os.sep) else None

    def _of_toolchain(self, path: str) -> str | None:
        # As spelled first, which costs nothing; then what it really is: a link there may lead anywhere.
        if not _resolvable(path) or not self._below_headers(posixpath.normpath(path)):
            return None
        real = os.path.realpath(posixpath.normpath(path))
        return real if self._below_headers(real) and os.path.isdir(real) else None

    def _below_headers(self, path: str) -> bool:
        return any(path.startswith(root + os.sep) for root in self.header_roots)

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


def _resolvable(path: str) -> bool:
    return not _UNNAMEABLE.search(path) and len(path) <= _LENGTH and path.count("/") <= MAX_PARTS
