"""Reading a history: every change of a C or C++ file, and every distinct blob of these changes, ours beside pygit2."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from _harness import Figure, compare

from megacpp_assets.commits.log import HISTORY_REF, NO_OBJECT, RENAME_LIMIT, read_log
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources import languages
from megacpp_assets.storage.git_objects import blob_reader_at

Change = tuple[str, str, str, str]
"""Commit, path, blob before and blob after; "" for a side that does not exist."""
Side = tuple[int, str]
"""Mode and blob."""
_FILE_MODES = frozenset({0o100644, 0o100755})
_SUFFIXES = languages.C_SOURCES | languages.CPP_SOURCES | languages.CPP_HEADERS | languages.C_OR_CPP_HEADERS
_ALL = HistoryRecipe(most_commits=0)


class Reading:
    """What one side found: its changes, and the number of bytes and a hash of each distinct blob."""

    def __init__(self) -> None:
        self.changes: set[Change] = set()
        self.blobs: dict[str, int] = {}
        self.commits = 0


@cache
def _is_code(path: str) -> bool:
    return languages.suffix_of(path) in _SUFFIXES


def _change(commit: str, path: str, pre: Side, post: Side) -> Iterator[Change]:
    before, after = (blob if mode in _FILE_MODES and blob != NO_OBJECT else "" for mode, blob in (pre, post))
    if before != after and _is_code(path):
        yield commit, path, before, after


def _rename(commit: str, paths: tuple[str, str], pre: Side, post: Side) -> list[Change]:
    """A deletion and an addition: of two equally similar files each side may choose another one."""
    nothing = (0, NO_OBJECT)
    return [*_change(commit, paths[0], pre, nothing), *_change(commit, paths[1], nothing, post)]


def read_ours(git_dir: Path) -> Reading:
    """Read the history by two git processes, as stage `commits` and the stages above it do."""
    found = Reading()
    with blob_reader_at(git_dir, "the history") as blobs:
        for commit in read_log(git_dir, _ALL):
            found.commits += 1
            for raw in commit.changes:
                pre, post = (int(raw.mode_pre, 8), raw.blob_pre), (int(raw.mode_post, 8), raw.blob_post)
                if raw.old_path == raw.path:
                    changes = list(_change(commit.commit, raw.path, pre, post))
                else:
                    changes = _rename(commit.commit, (raw.old_path, raw.path), pre, post)
                found.changes.update(changes)
                for blob in (blob for change in changes for blob in change[2:]):
                    if blob and blob not in found.blobs:
                        found.blobs[blob] = len(blobs.read(blob))
    return found


def read_peer(git_dir: Path) -> Reading:
    """Read the same by pygit2: its walk, its differences of trees with renames, and its object database."""
    import pygit2
    from pygit2.enums import SortMode

    found, repository = Reading(), pygit2.Repository(str(git_dir))
    walk = repository.walk(repository.references[HISTORY_REF].resolve().target, SortMode.TOPOLOGICAL)
    walk.simplify_first_parent()
    for commit in walk:
        found.commits += 1
        parent = commit.parents[0] if commit.parent_ids else None
        name = str(commit.id)
        difference = parent.tree.diff_to_tree(commit.tree) if parent else commit.tree.diff_to_tree(swap=True)
        difference.find_similar(rename_limit=RENAME_LIMIT)
        for delta in difference.deltas:
            old, new = delta.old_file, delta.new_file
            pre, post = (int(old.mode), str(old.id)), (int(new.mode), str(new.id))
            one = old.path == new.path
            changes = (
                list(_change(name, new.path, pre, post)) if one else _rename(name, (old.path, new.path), pre, post)
            )
            for change in changes:
                found.changes.add(change)
                for blob in change[2:]:
                    if blob and blob not in found.blobs:
                        found.blobs[blob] = len(repository.odb.read(blob)[1])
    return found


def measure_reading(name: str, git_dir: Path, runs: int) -> None:
    """Print the line. `SystemExit` where the two sides found other changes or blobs."""
    mine, theirs = read_ours(git_dir), read_peer(git_dir)
    if mine.changes != theirs.changes or mine.blobs != theirs.blobs or mine.commits != theirs.commits:
        differing = sorted(mine.changes ^ theirs.changes)[:3]
        raise SystemExit(
            f"{name}: {mine.commits} and {theirs.commits} commits, {len(mine.changes)} and {len(theirs.changes)}"
            f" changes, {len(mine.blobs)} and {len(theirs.blobs)} blobs; first that one side lacks: {differing}"
        )
    digest = hashlib.sha256("\n".join(sorted(mine.blobs)).encode()).hexdigest()[:8]
    amount = (
        f"{len(mine.changes)} changes and {len(mine.blobs)} blobs ({sum(mine.blobs.values()) / 1e6:.0f} MB, {digest})"
    )
    figure = Figure("history", f"{amount} of {name} read", "commits/CPU-s", mine.commits)
    compare(
        figure, lambda: read_ours(git_dir), lambda: read_peer(git_dir), peer_name="pygit2 1.21.0", runs=runs,
        warm_up=False,
    )  # fmt: skip
