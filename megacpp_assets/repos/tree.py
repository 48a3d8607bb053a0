"""Lists a commit's tree as git does, one entry at a time in path order, with submodules in their places."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from megacpp_assets.repos.git import git_records
from megacpp_assets.repos.submodules import Submodule

GITLINK = "160000"
_HEAD_BYTES = 128
"""Mode, type, id and size before a path are shorter than this."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of the commit's tree: git mode, object id, size in bytes, path."""

    mode: str
    object_id: str
    bytes: int
    path: str


def tree_entries(commit: str, prefix: str, git_dir: Path, path_bytes: int) -> Iterator[TreeEntry]:
    """Yield the files and links of `commit` in path order; `prefix` is put in front of each path.

    `RecordTooLong` for a path above `path_bytes`.
    """
    listing = ("ls-tree", "-r", "-z", "-l", "--full-tree", commit)
    for record in git_records(*listing, git_dir=git_dir, longest=_HEAD_BYTES + path_bytes):
        head, _, name = record.partition(b"\t")
        mode, _, object_id, size = head.decode().split()
        path = prefix + name.decode("utf-8", "surrogateescape")
        yield TreeEntry(mode, object_id, int(size) if size != "-" else 0, path)


def whole_tree(commit: str, submodules: Iterable[Submodule], git_dir: Path, path_bytes: int) -> Iterator[TreeEntry]:
    """Yield the entries of `commit` and of its submodules, in path order."""
    waiting = {module.path: module for module in submodules}
    heads: list[tuple[bytes, int, TreeEntry, Iterator[TreeEntry]]] = []

    def advance(stream: Iterator[TreeEntry], number: int) -> None:
        if (entry := next(stream, None)) is not None:
            heapq.heappush(heads, (_order(entry), number, entry, stream))

    advance(tree_entries(commit, "", git_dir, path_bytes), 0)
    while heads:
        _, number, entry, stream = heapq.heappop(heads)
        yield entry
        advance(stream, number)
        # The files of a submodule come after its link, so its tree is opened there and not earlier.
        if entry.mode == GITLINK and (module := waiting.pop(entry.path, None)):
            advance(tree_entries(module.commit, f"{module.path}/", git_dir, path_bytes), len(waiting) + 1)


def _order(entry: TreeEntry) -> bytes:
    """Return the key by which git sorts paths."""
    return entry.path.encode("utf-8", "surrogateescape")
