"""The C and C++ files of each commit's tree, as changes from one commit to the next.

A git process reads 256 commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from megacpp_assets.commits.log import NO_OBJECT, blob_sizes
from megacpp_assets.commits.rules import rule_of_path
from megacpp_assets.repos.git import git
from megacpp_assets.repos.listing.selection import source_file
from megacpp_assets.repos.tree import TreeEntry

MISSING_BLOB: Final = "missing blob"
TOO_LARGE: Final = "over the size limit"
_BLOCK_COMMITS: Final = 256
"""The number of commits that one process compares, so that memory does not grow with the history."""


class TreeChange(NamedTuple):
    """The file at `path` is now the blob `blob`; "" if it is no longer a C or C++ file of a usable size."""

    path: str
    blob: str


Chosen = Callable[[str, str, str], list[TreeChange]]
"""A function of mode, object (`NO_OBJECT` if removed) and path: the change of a followed file, else none."""


def source_change(mode: str, blob: str, path: str) -> list[TreeChange]:
    """Return the change of a C or C++ file that is neither vendored nor generated."""
    if rule_of_path(path, ()):
        return []
    if blob != NO_OBJECT and not source_file(TreeEntry(mode, blob, 1, path), "c++", "").skipped:
        return [TreeChange(path, blob)]
    # A removed file, or one that became a link or a submodule. Other files were never in the tree.
    gone = source_file(TreeEntry("100644", blob, 1, path), "c++", "")
    return [] if gone.skipped else [TreeChange(path, "")]


def tree_changes(
    git_dir: Path, commits: Sequence[str], most_bytes: int, left_out: Counter[str], chosen: Chosen = source_change
) -> Iterator[list[TreeChange]]:
    """Yield for each of `commits` the changes since the previous one; for the first one its whole tree.

    The changes of merges and unlisted commits between two commits are included. Only `chosen` files are
    followed. `left_out` counts files above `most_bytes` and blobs that the repository lacks, which are never fetched.
    Raises the errors of `git`.
    """
    for first in range(0, len(commits), _BLOCK_COMMITS):
        block = commits[first : first + _BLOCK_COMMITS]
        found = [] if first else [_whole_tree(git_dir, block[0], chosen)]
        found += _differences(git_dir, list(pairwise(commits[max(first - 1, 0) : first + len(block)])), chosen)
        sizes = blob_sizes(git_dir, dict.fromkeys(change.blob for each in found for change in each if change.blob))
        for changes in found:
            yield [_usable(change, sizes, most_bytes, left_out) for change in changes]


def _whole_tree(git_dir: Path, commit: str, chosen: Chosen) -> list[TreeChange]:
    found = []
    for record in git("ls-tree", "-r", "-z", "--full-tree", commit, git_dir=git_dir).split(b"\0")[:-1]:
        facts, _, name = record.partition(b"\t")
        mode, _, blob = facts.decode().split()
        found += chosen(mode, blob, _path(name))
    return found


def _differences(git_dir: Path, pairs: Sequence[tuple[str, str]], chosen: Chosen) -> list[list[TreeChange]]:
    """Return the differing files of each pair (commit, next listed commit), in the order of `pairs`."""
    if not pairs:
        return []
    arguments = ("diff-tree", "--stdin", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", "--always")
    asked = "".join(f"{after} {before}\n" for before, after in pairs).encode()
    records = iter(git(*arguments, git_dir=git_dir, stdin=asked).split(b"\0")[:-1])
    found: list[list[TreeChange]] = []
    for record in records:
        if not record.startswith(b":"):
            found.append([])
            continue
        _, mode, _, blob, status = record.decode().split()
        found[-1] += chosen(mode, NO_OBJECT if status == "D" else blob, _path(next(records)))
    return found


def _path(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _usable(change: TreeChange, sizes: dict[str, int], most_bytes: int, left_out: Counter[str]) -> TreeChange:
    if not change.blob:
        return change
    size = sizes.get(change.blob)
    rule = MISSING_BLOB if size is None else TOO_LARGE if size > most_bytes else ""
    if not rule:
        return change
    left_out[rule] += 1
    return TreeChange(change.path, "")
