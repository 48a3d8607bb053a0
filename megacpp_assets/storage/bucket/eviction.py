"""Bounds a cache: the data files of the artifacts that were used least recently are removed first.

Only files that the bucket holds are removed. An artifact that is locked, or was used in the last ten minutes, is kept.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.artifact import find_artifact
from megacpp_assets.storage.bucket.binding import is_stored, record_file, recorded_paths
from megacpp_assets.storage.root.locks import open_lock, try_lock

SIZE_VARIABLE: Final = "MEGACPP_CACHE_GB"
_DEFAULT_GB: Final = 100.0
IN_USE_SECONDS = 600.0
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, order=True)
class _Cached:
    used: float
    path: str
    bytes: int


def cache_limit() -> int:
    """Return the bound of a cache in bytes: MEGACPP_CACHE_GB, else 100 GB. `SpecError` for anything but a number."""
    text = os.environ.get(SIZE_VARIABLE) or str(_DEFAULT_GB)
    try:
        size = float(text)
    except ValueError:
        size = -1.0
    if not 0 <= size < 1e9:
        raise SpecError(
            SIZE_VARIABLE,
            expected="a number of gigabytes, 0 or more",
            found=text,
            do="correct the variable, or unset it",
        )
    return int(size * 1e9)


def trim(root: Path, *, room_for: int = 0) -> int:
    """Remove data files until `room_for` more bytes fit the bound; return the bytes of stored artifacts that are left.

    Manifests stay: they are small, and every plan reads them.
    """
    limit = cache_limit() - room_for
    cached = sorted(_cached(root))
    total = sum(each.bytes for each in cached)
    for each in cached:
        if total <= limit:
            break
        if each.bytes and time.time() - each.used >= IN_USE_SECONDS:
            total -= _evict(root, each.path)
    if total > max(limit, 0):
        _LOG.warning("%s: %d bytes in use, more than %s allows", root, total, SIZE_VARIABLE)
    return total


def _cached(root: Path) -> Iterator[_Cached]:
    for path in recorded_paths(root):
        size = sum(_size(file) for file in _data_files(root / path))
        yield _Cached(record_file(root, path).stat().st_mtime, path, size)


def _data_files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if name not in (COMPLETE_FILE, MANIFEST_FILE))


def _evict(root: Path, path: str) -> int:
    """Remove the data files of the artifact and return their size, or 0 if another process uses it."""
    descriptor = open_lock(root, path)
    try:
        if not try_lock(descriptor, fcntl.LOCK_EX, "eviction"):
            return 0
        artifact = find_artifact(root, path)
        if artifact is None or not is_stored(root, path, artifact.manifest.sha256):
            return 0
        removed = 0
        for entry in artifact.manifest.files:
            removed += _size(file := artifact.directory / entry.name)
            file.unlink(missing_ok=True)
        return removed
    finally:
        os.close(descriptor)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
