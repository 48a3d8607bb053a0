"""A cache of bytes under hexadecimal names in a folder. A damaged or foreign entry counts as missing.

Writes are not durable by design: an entry that a crash damaged fails its checksum and counts as missing.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import zstandard

from megacpp_assets.storage.atomic import undone_on_error

LIMIT_BYTES = 8 << 30
_KEPT_PART = 0.8
_LEVEL = 3
_DIGEST_BYTES = 32
_WRITTEN = "."
"""How the name of a file begins that is being written."""
_LONGEST_WRITE = 3600.0
"""Seconds. An older file of that kind is left over from a process that was killed."""


class Cache:
    """Entries in `folder`, which processes may share. Removing entries or the folder costs only time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str) -> bytes | None:
        """Return the bytes under `name` and note their use; None if they are missing or damaged."""
        found = self.peek(name)
        if found is not None:
            with suppress(OSError):
                os.utime(self._path(name))
        return found

    def peek(self, name: str) -> bytes | None:
        """Do the same as `get` without noting the use, so that nothing is written."""
        try:
            whole = self._path(name).read_bytes()
        except OSError:
            return None
        digest, body = whole[:_DIGEST_BYTES], whole[_DIGEST_BYTES:]
        return zstandard.ZstdDecompressor().decompress(body) if digest == _seal(name, body) else None

    def put(self, name: str, data: bytes) -> None:
        """Store `data` under `name`. A reader sees all of it or nothing."""
        path = self._path(name)
        body = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=_WRITTEN)
        with undone_on_error(lambda: os.unlink(temporary)):
            with os.fdopen(descriptor, "wb") as file:
                file.write(_seal(name, body) + body)
            os.replace(temporary, path)

    def trim(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """If the entries exceed `limit_bytes`, remove the least recently used ones until a fifth of that is free."""
        entries = [(stat.st_mtime_ns, stat.st_size, path) for path in self._files() if (stat := _stat(path))]
        total = sum(size for _, size, _ in entries)
        if total <= limit_bytes:
            return
        for _, size, path in sorted(entries):
            path.unlink(missing_ok=True)
            total -= size
            if total <= limit_bytes * _KEPT_PART:
                return

    def clear(self) -> None:
        """Remove every entry."""
        for path in self._files():
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        """Return the files of the entries, without those that a process writes now."""
        return [
            path
            for folder, _, names in os.walk(self._folder)
            for name in names
            if not _is_being_written(path := Path(folder, name))
        ]

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name[2:]


def _seal(name: str, body: bytes) -> bytes:
    """Return the checksum of an entry. It includes the name, so an entry under another name is rejected."""
    return hashlib.sha256(name.encode() + b"\0" + body).digest()


def _is_being_written(path: Path) -> bool:
    """Return whether `path` is a temporary file that is not left over from a process which was killed."""
    stat = _stat(path) if path.name.startswith(_WRITTEN) else None
    return stat is not None and time.time() - stat.st_mtime < _LONGEST_WRITE


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None
