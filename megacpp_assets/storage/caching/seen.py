"""Which files of an artifact were read whole and found to be as its manifest says, by the state that they were in then.

A file whose state is still the same need not be read again. Kept in the data root's cache, one entry an artifact, found
by the artifact's path; removing it costs only a reading.
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
from megacpp_assets.storage.layout import seen_cache_path
from megacpp_assets.storage.locks import LOCKS_DIRECTORY

MOMENT_NS: Final = 100_000_000
"""A file that changed less than this before it was read may change once more without another state to show for it: the
kernel moves the clock of change times a hundred times a second or more."""
_SECOND_NS: Final = 1_000_000_000
_KEEP_CHANGE_TIMES: Final = frozenset({"ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "overlay"})
"""File systems of one machine, whose kernel moves a file's change time at every write and lets nobody choose it."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file system says of a file without reading it. Whatever writes to the file moves `changed_ns`."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


Seen = Mapping[str, FileState]
"""File name -> the state in which it held the bytes of the manifest."""


def state_of(path: Path) -> FileState:
    """The state of the file at `path`; raises OSError where there is none."""
    stat = os.stat(path)
    return FileState(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def settled(before: FileState, after: FileState, started_ns: int) -> bool:
    """Whether a file read between two looks at it, from `started_ns` on, can be told from any later change of it."""
    # A file system that counts in whole seconds cannot tell two changes within one.
    return before == after and before.changed_ns % _SECOND_NS != 0 and before.changed_ns + MOMENT_NS < started_ns


def now_ns() -> int:
    """The clock that change times are taken from."""
    return time.time_ns()


def read_seen(root: Path, path: str, manifest_sha256: str) -> Seen:
    """What is known of the files of exactly this artifact; nothing where file systems cannot be trusted with it."""
    if not _is_trusted(str(root / path)):
        return {}
    entry = _cache(root).peek(_name(path))
    facts = json.loads(entry) if entry else {}
    if facts.get("manifest") != manifest_sha256:
        return {}
    return {name: FileState(*state) for name, state in facts["states"].items()}


def write_seen(root: Path, path: str, manifest_sha256: str, seen: Seen) -> None:
    """Remember what was seen of an artifact, in place of what was known of its path."""
    # Only a data root has a cache: beside a folder that was copied out of one, nothing is written.
    if not (root / LOCKS_DIRECTORY).is_dir() or not _is_trusted(str(root / path)):
        return
    states = {name: astuple(state) for name, state in seen.items()}
    try:
        _cache(root).put(_name(path), canonical_json({"manifest": manifest_sha256, "states": states}))
    except OSError:
        # Nothing is lost with it but time, and a data root that cannot be written may still be looked at.
        return


def forget(root: Path) -> None:
    """Trust no file of `root`: each is read again when it is next asked for."""
    _cache(root).clear()


def _cache(root: Path) -> Cache:
    return Cache(root / seen_cache_path())


def _name(path: str) -> str:
    return sha256_bytes(path.encode())


@functools.lru_cache(maxsize=1 << 12)
def _is_trusted(folder: str) -> bool:
    """Whether `folder` lies on a file system that keeps change times."""
    kinds = {partition.mountpoint: partition.fstype for partition in psutil.disk_partitions(all=True)}
    place = Path(folder).resolve()
    mounted = next((kinds[str(parent)] for parent in (place, *place.parents) if str(parent) in kinds), "")
    return mounted in _KEEP_CHANGE_TIMES
