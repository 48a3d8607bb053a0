"""Durable file operations: write under a temporary name, flush, fsync, rename, fsync the directory."""

from __future__ import annotations

import os
from pathlib import Path

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
    """Where the bytes of `path` lie until they are whole."""
    return path.with_name(f".{path.name}{TEMPORARY_SUFFIX}")


def promote(temporary: Path, path: Path) -> None:
    """Give a finished temporary file its name, durably."""
    fsync_file(temporary)
    temporary.replace(path)
    fsync_directory(path.parent)


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old bytes or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_path(path)
    with temporary.open("wb") as file:
        file.write(data)
    promote(temporary, path)
