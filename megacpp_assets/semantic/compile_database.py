"""`compile_commands.json`, read by a strict reader of our own: allowed arguments per file of the tree.

libclang's own reader is never used: it expands response files, which would put host files into the arguments.
"""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from megacpp_assets.semantic.arguments import allowed
from megacpp_assets.semantic.shell_words import shell_words
from megacpp_assets.semantic.tree_paths import MAX_PARTS, TreePaths

DATABASE = "compile_commands.json"
CONFIGURED = f".megacpp/configured/{DATABASE}"
"""Where a configure of our own leaves the database; no tree can: the folder's name is refused in a commit."""
MAX_BYTES = 64 << 20
MAX_DEPTH = 4
MAX_ENTRIES = 200_000
_VOTERS = 2000
"""So many entries say where the tree lies; asking all would cost more than the parse of a hostile tree is worth."""
_BUILD_FOLDERS = (
    "build", "build-debug", "build-release", "cmake-build-debug", "cmake-build-release", "out", "out/build",
)  # fmt: skip
_BUILD_PREFIXES = ("build", "cmake-build", "out")


@dataclass(frozen=True, slots=True)
class _Entry:
    directory: str
    file: str
    arguments: tuple[str, ...]


def find_database(tree: Path, explicit: str | None = None) -> str | None:
    """Tree-relative path of the database to use, None if the tree has none (search order: CONTRACTS 2).

    The one of a configure that was asked for wins, then the root's; else the build folders together, then a walk of
    depth 4: the file with the most entries.
    """
    if explicit is not None:
        return explicit if (tree / explicit).is_file() else None
    for path in (CONFIGURED, DATABASE):
        if _is_file(tree / path):
            return path
    for group in (_build_candidates(tree), _walk_candidates(tree)):
        found = sorted({path for path in group if _is_file(tree / path)})
        if found:
            return max(found, key=lambda path: (len(_read_entries(tree / path)), [-byte for byte in path.encode()]))
    return None


def read_database(tree: Path, path: str, header_roots: tuple[str, ...] = ()) -> Mapping[str, tuple[str, ...]]:
    """Allowed arguments by tree-relative source path; the first entry of a file counts. Malformed parts are skipped.

    Of folders outside the tree only those below `header_roots` may be searched.
    """
    entries = _read_entries(tree / path)
    home = posixpath.dirname(path)
    real = os.path.realpath(tree)
    paths = TreePaths(real, _source_root(entries, TreePaths(real)), header_roots)
    result: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        base = paths.inside(entry.directory, home)
        source = paths.file(entry.file, home if base is None else base)
        if source is not None and source not in result:
            result[source] = allowed(entry.arguments[1:], paths, home if base is None else base)
    return result


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


def _read_entries(path: Path) -> list[_Entry]:
    if path.stat().st_size > MAX_BYTES:
        return []
    try:
        raw = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        return []
    items = raw[:MAX_ENTRIES] if isinstance(raw, list) else []
    return [entry for item in items if isinstance(item, dict) and (entry := _entry(item)) is not None]


def _entry(item: Mapping[str, Any]) -> _Entry | None:
    directory, file = item.get("directory"), item.get("file")
    arguments = item.get("arguments")
    if arguments is None and isinstance(item.get("command"), str):
        arguments = shell_words(item["command"])
    if not isinstance(directory, str) or not isinstance(file, str) or not isinstance(arguments, list):
        return None
    if not all(isinstance(argument, str) for argument in arguments):
        return None
    return _Entry(directory, file, tuple(arguments))


def _source_root(entries: Sequence[_Entry], paths: TreePaths) -> str:
    """The absolute folder under which the database knows the tree: the one that explains most of its files."""
    votes: Counter[str] = Counter()
    for entry in entries[:_VOTERS]:
        absolute = posixpath.normpath(posixpath.join(entry.directory, entry.file))
        parts = absolute.split("/") if absolute.startswith("/") else []
        # The longest suffix that is a file of the tree says where its root is.
        for cut in range(1, len(parts) if len(parts) <= MAX_PARTS else 0):
            if paths.file("/".join(parts[cut:])) is not None:
                votes["/".join(parts[:cut]) or "/"] += 1
                break
    return max(votes, key=lambda root: (votes[root], -len(root), root)) if votes else ""
