"""Reads `compile_commands.json` with our own strict reader: allowed arguments for each file of the tree.

libclang's own reader is never used: it expands any response file, which would put host files into the arguments.
"""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from megacpp_assets.semantic.commands.arguments import MAX_ARGUMENTS, AllowList
from megacpp_assets.semantic.commands.database.entries import Entry, Reading
from megacpp_assets.semantic.commands.database.response_files import ResponseFiles
from megacpp_assets.semantic.commands.database.shell_words import shell_words
from megacpp_assets.semantic.commands.database.windows import gnu_options, is_cl, is_windows, windows_words
from megacpp_assets.semantic.tree.build_files import DATABASE
from megacpp_assets.semantic.tree.tree_paths import MAX_PARTS, TreePaths

CONFIGURED = f".megacpp/configured/{DATABASE}"
"""The path at which our own configure leaves the database. No tree can have it, because such a folder's name is
rejected in a commit.
"""
MAX_DEPTH = 4
MAX_COMPARED = 32
"""The maximum number of databases whose sizes are compared. In a tree with more, none is clearly the main one."""
MAX_TOTAL_ARGUMENTS = 20_000_000
_VOTERS = 2000
"""The number of entries from which the root of the tree is inferred. Reading all could cost more than the parse of a
hostile tree.
"""
_EQUAL_COMMANDS = 64
"""The number of cached command lines. Equal command lines mostly follow each other."""
_BUILD_FOLDERS = (
    "build", "build-debug", "build-release", "cmake-build-debug", "cmake-build-release", "out", "out/build",
)  # fmt: skip
_BUILD_PREFIXES = ("build", "cmake-build", "out")


class Database(NamedTuple):
    """Allowed arguments by tree-relative source path, and why the database was not read, or not completely, or "".

    `warned` are the sources with a response file that was not read.
    """

    entries: Mapping[str, tuple[str, ...]]
    reason: str = ""
    warned: frozenset[str] = frozenset()


NO_DATABASE = Database({})


def find_database(tree: Path, explicit: str | None = None) -> str | None:
    """Return the tree-relative path of the database to use, or None.

    A requested configure's database wins, then the root's. Else it is the database with the most entries, first in the
    build folders, then within a depth of 4.
    """
    if explicit is not None:
        return explicit if (tree / explicit).is_file() else None
    for path in (CONFIGURED, DATABASE):
        if _is_file(tree / path):
            return path
    for group in (_build_candidates(tree), _walk_candidates(tree)):
        found = sorted({path for path in group if _is_file(tree / path)})[:MAX_COMPARED]
        if found:
            return max(found, key=lambda path: (_size(tree / path), [-byte for byte in path.encode()]))
    return None


def read_database(
    tree: Path, path: str, header_roots: tuple[str, ...] = (), *, wanted: Collection[str] | None = None
) -> Database:
    """Return the entries of the files of the tree, or of those `wanted`. The first entry of a file counts; malformed
    ones are skipped.

    Outside of the tree only folders below `header_roots` may be searched. A file that is not JSON to its end gives
    nothing. If a limit is exceeded, the entries before it count.
    """
    real = os.path.realpath(tree)
    reading = Reading(tree / path)
    home = posixpath.dirname(path)
    root = _source_root(islice(reading, _VOTERS), TreePaths(real))
    chosen = _Chosen(TreePaths(real, root, header_roots), home, wanted)
    for entry in reading:
        if not chosen.take(entry):
            reason = f"more than {MAX_TOTAL_ARGUMENTS:,} arguments; the others are not read"
            return Database(chosen.result, reason, frozenset(chosen.warned))
    if reading.malformed:
        return Database({}, reading.reason)
    return Database(chosen.result, reading.reason, frozenset(chosen.warned))


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _build_candidates(tree: Path) -> Iterator[str]:
    children = sorted(child.name for child in tree.iterdir() if child.is_dir() and not child.is_symlink())
    yield from (f"{folder}/{DATABASE}" for folder in _BUILD_FOLDERS)
    yield from (f"{name}/{DATABASE}" for name in children if name.startswith(_BUILD_PREFIXES))


def _walk_candidates(tree: Path) -> Iterator[str]:
    for folder, names, files in os.walk(tree):
        relative = Path(folder).relative_to(tree)
        if len(relative.parts) >= MAX_DEPTH:
            names.clear()
        if DATABASE in files:
            yield (relative / DATABASE).as_posix()


def _size(path: Path) -> int:
    """Return the number of entries of the database at `path`; 0 if it is malformed."""
    reading = Reading(path)
    number = sum(1 for _ in reading)
    return 0 if reading.malformed else number


class _Chosen:
    """Collects entries. The arguments of an entry outside of the tree, or of a file that has an entry, are not
    examined.
    """

    def __init__(self, paths: TreePaths, home: str, wanted: Collection[str] | None) -> None:
        self.result: dict[str, tuple[str, ...]] = {}
        self.warned: set[str] = set()
        self._paths = paths
        self._home = home
        self._wanted = wanted
        self._left = MAX_TOTAL_ARGUMENTS
        self._allowed = AllowList(paths)
        self._responses = ResponseFiles(paths)
        self._arguments = lru_cache(_EQUAL_COMMANDS)(self._parsed)

    def take(self, entry: Entry) -> bool:
        """Take `entry` if it is wanted. Return false if the database would exceed the limit of arguments."""
        source, base = self._place(entry)
        if source is None or source in self.result or (self._wanted is not None and source not in self._wanted):
            return True
        arguments = self._arguments(entry.command, base, is_windows(entry.command, entry.directory))
        if arguments is not None:
            self.result[source], is_whole = arguments
            if not is_whole:
                self.warned.add(source)
        return self._left >= 0

    def _place(self, entry: Entry) -> tuple[str | None, str]:
        """Return the source of `entry` and the folder in which it is compiled.

        A relative `directory` may start at the database's own folder or at the top of the tree.
        """
        for home in dict.fromkeys((self._home, "")):
            base = self._paths.inside(entry.directory, home)
            base = home if base is None else base
            source = self._paths.file(entry.file, base)
            if source is not None:
                return source, base
        return None, ""

    def _parsed(
        self, command: str | tuple[str, ...], base: str, of_windows: bool
    ) -> tuple[tuple[str, ...], bool] | None:
        """Return the allowed arguments of `command`, and whether all of its response files were read."""

        def split(text: str) -> Sequence[str] | None:
            return (windows_words if of_windows else shell_words)(text, MAX_ARGUMENTS + 1)

        words = split(command) if isinstance(command, str) else command
        if not words:
            return None
        expanded, is_whole = self._responses.expand(words[1:], base, split, MAX_ARGUMENTS)
        self._left -= 1 + len(expanded)
        if of_windows:
            expanded = gnu_options(expanded, of_cl=is_cl(words[0]))
        return self._allowed.of(expanded, base), is_whole


def _source_root(entries: Iterable[Entry], paths: TreePaths) -> str:
    """Return the absolute path of the tree on the machine that wrote the database: the one that most files agree on."""
    votes: Counter[str] = Counter()
    for entry in entries:
        absolute = posixpath.normpath(posixpath.join(entry.directory, entry.file))
        parts = absolute.split("/") if absolute.startswith("/") else []
        # The longest suffix that is a file of the tree shows where its root is.
        for cut in range(1, len(parts) if len(parts) <= MAX_PARTS else 0):
            if paths.file("/".join(parts[cut:])) is not None:
                votes["/".join(parts[:cut]) or "/"] += 1
                break
    return max(votes, key=lambda root: (votes[root], -len(root), root)) if votes else ""
