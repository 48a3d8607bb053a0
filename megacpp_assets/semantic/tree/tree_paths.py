"""Paths that a compile database or a source names, resolved to the tree or rejected: nothing outside gets through but
folders of the toolchain's own headers, which every source may include anyway."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from dataclasses import dataclass, field

PRECOMPILED = (".pch", ".gch")
"""Endings under which the compiler looks for a precompiled form of a header that `-include` names."""
MAX_PARTS = 128
_LENGTH = 4096
_UNNAMEABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TreePaths:
    """Resolves paths against `tree` (an absolute real path).

    `source_root` is the absolute path under which a compile database knows the tree, where that is another one;
    `header_roots` are the folders and headers (real paths) that the compiler shows to every source. Folders that were
    looked at are remembered: for as long as none becomes a link.
    """

    tree: str
    source_root: str = ""
    header_roots: tuple[str, ...] = ()
    _plain: set[str] = field(default_factory=set, repr=False, compare=False)

    def folder(self, path: str, base: str = "") -> str | None:
        """Tree-relative form of an existing folder of the tree (`.` for the tree itself), else None.

        One of the header roots, or a folder below it, has its real, absolute path.
        """
        inside = self.inside(path, base)
        if inside is None:
            return self._of_toolchain(path)
        return inside if os.path.isdir(self._absolute(inside)) else None

    def file(self, path: str, base: str = "") -> str | None:
        """Tree-relative form of an existing regular file of the tree, else None.

        A file with a precompiled form in the same folder is rejected: the compiler would load that instead.
        """
        named = self._named(path, base)
        # First the look that costs the least: of a hostile database's paths next to none is a file.
        if named is None or not os.path.isfile(self._absolute(named)) or not self._stays(named):
            return None
        inside = named
        return None if any(os.path.lexists(self._absolute(inside + ending)) for ending in PRECOMPILED) else inside

    def inside(self, path: str, base: str = "") -> str | None:
        """Return the normalised tree-relative form of `path`, itself relative to the tree's folder `base`, or None
        if outside.
        """
        named = self._named(path, base)
        return named if named is not None and self._stays(named) else None

    def _named(self, path: str, base: str) -> str | None:
        """Return what `inside` gives if no link leads out of the tree."""
        whole = posixpath.join(base, path)
        # Resolving costs a look at the disk per part: what no real tree needs is not resolved at all.
        return self._relative(whole) if path and _resolvable(whole) else None

    def _stays(self, relative: str) -> bool:
        """Return whether `relative` is inside the tree after links are resolved. Each folder is checked once."""
        end = relative.rfind("/") if relative[: relative.rfind("/") + 1].rstrip("/") in self._plain else 0
        while end != len(relative):
            end = relative.find("/", end + 1)
            end = len(relative) if end < 0 else end
            if relative[:end] in self._plain:
                continue
            try:
                mode = os.lstat(self._absolute(relative[:end])).st_mode
            except (FileNotFoundError, NotADirectoryError):
                return True  # nothing lies behind it, thus no link
            except OSError:
                return False
            if stat.S_ISLNK(mode):
                real = os.path.realpath(self._absolute(relative))
                return real == self.tree or real.startswith(self.tree + os.sep)
            if stat.S_ISDIR(mode):
                self._plain.add(relative[:end])
        return True

    def _of_toolchain(self, path: str) -> str | None:
        # As spelled first, which costs nothing; then what it really is: a link there may lead anywhere.
        if not _resolvable(path) or not self._below_headers(posixpath.normpath(path)):
            return None
        real = os.path.realpath(posixpath.normpath(path))
        return real if self._below_headers(real) and os.path.isdir(real) else None

    def _below_headers(self, path: str) -> bool:
        return any(path == root or path.startswith(root + os.sep) for root in self.header_roots)

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
