"""Remembers which files of an artifact were verified, with their file state (inode, size, times) at that time.

A file with the same state is not read again. The data root's cache has one entry for each artifact path. Removing an
entry costs only another verification.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

import psutil

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.root.layout import seen_cache_path
from megacpp_assets.storage.root.locks import LOCKS_DIRECTORY

MOMENT_NS: Final = 100_000_000
"""The resolution of change times. A file that changed less than this before it was read may change again without a new
state, because the kernel updates the clock of change times only about a hundred times a second.
"""
_SECOND_NS: Final = 1_000_000_000
_KEEP_CHANGE_TIMES: Final = frozenset({"ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "overlay"})
"""Local file systems whose kernel updates a file's change time at every write, and on which nobody can set it."""


@dataclass(frozen=True, slots=True)
class FileState:
    """The metadata of a file. Every write to the file changes `changed_ns`."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


Seen = Mapping[str, FileState]
"""File name -> the state of the file when it had the bytes of the manifest."""


def state_of(path: Path) -> FileState:
    """Return the state of the file at `path`. Raises OSError if it is missing."""
    stat = os.stat(path)
    return FileState(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def settled(before: FileState, after: FileState, started_ns: int) -> bool:
    """Return whether a later change of the file would show in its state.

    The file was read from `started_ns` on, between the two states.
    """
    # A file system that counts in whole seconds cannot tell two changes within one.
    return before == after and before.changed_ns % _SECOND_NS != 0 and before.changed_ns + MOMENT_NS < started_ns


def now_ns() -> int:
    """Return the time of the clock that the kernel uses for change times."""
    return time.time_ns()


def read_seen(root: Path, path: str, manifest_sha256: str) -> Seen:
    """Return the remembered states of this artifact; empty on file systems whose change times are not reliable."""
    if not _is_trusted(str(root / path)):
        return {}
    entry = _cache(root).peek(_name(path))
    facts = json.loads(entry) if entry else {}
    if facts.get("manifest") != manifest_sha256:
        return {}
    return {name: FileState(*state) for name, state in facts["states"].items()}


def write_seen(root: Path, path: str, manifest_sha256: str, seen: Seen) -> None:
    """Remember the states of an artifact's files; they replace those of an earlier artifact at this path."""
    # Only a data root has a cache. Nothing is written next to a folder that was copied out of a data root.
    if not (root / LOCKS_DIRECTORY).is_dir() or not _is_trusted(str(root / path)):
        return
    states = {name: astuple(state) for name, state in seen.items()}
    try:
        _cache(root).put(_name(path), canonical_json({"manifest": manifest_sha256, "states": states}))
    except OSError:
        # Only time is lost, and a read-only data root must still be readable.
        return


def forget(root: Path) -> None:
    """Forget all states of `root`, so that each file is verified again before its next use."""
    _cache(root).clear()


def _cache(root: Path) -> Cache:
    return Cache(root / seen_cache_path())


def _name(path: str) -> str:
    return sha256_bytes(path.encode())


@functools.lru_cache(maxsize=1 << 12)
def _is_trusted(folder: str) -> bool:
    """Return whether `folder` is on a file system with reliable change times."""
    kinds = {partition.mountpoint: partition.fstype for partition in psutil.disk_partitions(all=True)}
    place = Path(folder).resolve()
    mounted = next((kinds[str(parent)] for parent in (place, *place.parents) if str(parent) in kinds), "")
    return mounted in _KEEP_CHANGE_TIMES
