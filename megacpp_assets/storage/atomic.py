"""Durable file operations: write under a temporary name, flush, fsync, rename, fsync the directory."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from megacpp_assets.contract.disk import naming

TEMPORARY_SUFFIX = ".tmp"


def fsync_directory(path: Path) -> None:
    """Make the directory entries of `path` durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_file(path: Path) -> None:
    """Make the bytes of `path` durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary_path(path: Path) -> Path:
    """Where the bytes of `path` lie until they are whole, over what a killed writer left. One writer at a time."""
    return path.with_name(f".{path.name}{TEMPORARY_SUFFIX}")


def promote(temporary: Path, path: Path) -> None:
    """Give a finished temporary file its name, durably."""
    fsync_file(temporary)
    temporary.replace(path)
    fsync_directory(path.parent)


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old bytes or the new, never a part. One writer at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_through(temporary_path(path), path, data)


def write_any(path: Path, data: bytes) -> None:
    """As `write_atomic`, for any number of writers at once: the last one stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY_SUFFIX)
    os.close(descriptor)
    _write_through(Path(name), path, data)


def _write_through(temporary: Path, path: Path, data: bytes) -> None:
    """Nothing is left of it where it fails."""
    try:
        with naming(path):
            temporary.write_bytes(data)
            promote(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
