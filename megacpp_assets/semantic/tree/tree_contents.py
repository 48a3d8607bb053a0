"""The files of a tree by content, and the files that the includes of a text may mean. The result of a parse depends on
these.

The answer may have too many files, but never too few. Text in quotes counts as included from any folder that fits. A
text that computes the name of an include may mean every file.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_ENDS = bytes.maketrans(b"<>\r\n", b'""""')
_SPLICE = re.compile(rb"\\\r?\n")
_GAP = rb"(?>(?:[ \t\f\v]++|/\*[^*]*\*/)*)"
_COMPUTED = re.compile(
    rb"(?:^|\A\xef\xbb\xbf)" + _GAP + rb"(?:\#|%:|\?\?=)" + _GAP
    + rb"(?:include(?:_next)?|import)\b(?!" + _GAP + rb"[\"<])"
    rb"|__has_include(?:_next)?" + _GAP + rb"\((?!" + _GAP + rb"[\"<])", re.M
)  # fmt: skip
_PASSED_ON = re.compile(
    rb"^[ \t]*\#[ \t]*define[ \t]+\w+\([ \t]*(\w+)[ \t]*\)[^\n]*?__has_include(?:_next)?[ \t]*\([ \t]*\1[ \t]*\)", re.M
)
"""`#define HAS(x) __has_include(x)`: who uses it quotes the name."""


@dataclass(frozen=True, slots=True)
class _Text:
    """What counts of a file: hash of its bytes, tree paths it may mean."""

    digest: bytes
    means: frozenset[str]


_ABSENT = _Text(b"absent", frozenset())


class TreeContents:
    """The regular files below `tree` as they are now; each is read when it is first asked for or was forgotten."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._texts: dict[str, _Text] = {}
        self._by_name: dict[bytes, list[str]] = defaultdict(list)
        for path in _files(tree):
            self._by_name[os.fsencode(posixpath.basename(path))].append(path)
        self._all = frozenset(path for group in self._by_name.values() for path in group)

    def forget(self, paths: Iterable[str]) -> None:
        """Read these files again: their contents changed. Files that come or go need a new object."""
        for path in paths:
            self._texts.pop(path, None)

    def digest(self, path: str) -> str:
        """Return the hash of the content of one file."""
        return self._text(path).digest.hex()

    def state(self, inside: Iterable[str], outside: Iterable[str]) -> str:
        """Return the identity of what a parse depends on that read the tree's files `inside` and the compiler's files
        `outside`.

        If two states of one reader are equal, the contents are equal, and no include of the reader could now find
        another file.
        """
        digest = hashlib.sha256()
        means: set[str] = set()
        for path in sorted(inside):
            text = self._text(path)
            digest.update(os.fsencode(path) + b"\0" + text.digest)
            means.update(text.means, self._by_name.get(os.fsencode(posixpath.basename(path)), ()))
        for path in outside:
            means |= self._text(path).means
        digest.update(b"\0".join(os.fsencode(path) for path in sorted(means)))
        return digest.hexdigest()

    def meant(self, text: bytes) -> frozenset[str]:
        """Return the paths of the tree that the includes of a text may mean."""
        return frozenset(self._meant(_SPLICE.sub(b"", text)))

    def reach(self, paths: Iterable[str]) -> set[str]:
        """Return `paths` and every file that parsing them might read: for a parser that died before it could report."""
        found = set(paths)
        queue = list(found)
        while queue:
            new = self._text(queue.pop()).means - found
            found |= new
            queue += new
        return found

    def _text(self, path: str) -> _Text:
        text = self._texts.get(path)
        if text is None:
            text = self._texts[path] = self._read(path)
        return text

    def _read(self, path: str) -> _Text:
        try:
            data = (self._tree / path).read_bytes()
        except OSError:
            return _ABSENT
        spliced = _SPLICE.sub(b"", data)
        own = not path.startswith("/")
        # Macros of the compiler's headers that name headers are quoted in some text; prose there looks like directives.
        means = self._all if own and _COMPUTED.search(_PASSED_ON.sub(b"", spliced)) else frozenset(self._meant(spliced))
        return _Text(hashlib.sha256(data).digest(), means)

    def _meant(self, text: bytes) -> Iterator[str]:
        for piece in set(text.translate(_ENDS).split(b'"')):
            for path in self._by_name.get(piece.rpartition(b"/")[2], ()):
                if f"/{path}".endswith(f"/{_suffix(os.fsdecode(piece))}"):
                    yield path


def _files(tree: Path) -> Iterator[str]:
    for folder, _, names in os.walk(tree):
        relative = os.path.relpath(folder, tree)
        for name in names:
            yield name if relative == "." else f"{relative}/{name}"


def _suffix(spelling: str) -> str:
    """Return how a path ends to which `spelling` can lead from some folder."""
    return "/".join(part for part in posixpath.normpath(spelling).split("/") if part not in ("", ".", ".."))


def header_state(roots: Sequence[str], library: str) -> str:
    """Return the identity of the compiler's headers and library on this machine. No content is read."""
    digest = hashlib.sha256()
    for path in (library, *machine_files(roots)):
        try:
            stat = os.stat(path)
        except OSError:
            continue
        digest.update(os.fsencode(path) + f"\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def machine_files(roots: Sequence[str]) -> Iterator[str]:
    """Yield the paths of `roots` that are files, and of all files below the others, sorted within each folder."""
    outer = [root for root in roots if not any(root.startswith(other + os.sep) for other in roots)]
    for root in outer:
        if os.path.isfile(root):
            yield root
        yield from sorted(os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)
