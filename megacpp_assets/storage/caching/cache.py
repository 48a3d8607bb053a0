"""Bytes that may be made again, kept below a folder under hexadecimal names. What is damaged or foreign is not found.

Not durable by design: an entry that a crash tore fails its checksum and counts as absent.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import zstandard

LIMIT_BYTES = 8 << 30
_KEPT_PART = 0.8
_LEVEL = 3
_DIGEST_BYTES = 32


class Cache:
    """Entries in `folder`, which may be shared by processes; removing any of them, or the folder, costs only time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str) -> bytes | None:
        """The bytes kept under `name`, which count as used now; None if there are none or they are not what was put."""
        found = self.peek(name)
        if found is not None:
            with suppress(OSError):
                os.utime(self._path(name))
        return found

    def peek(self, name: str) -> bytes | None:
        """As `get`, with nothing written: reading is not counted as use."""
        try:
            whole = self._path(name).read_bytes()
        except OSError:
            return None
        digest, body = whole[:_DIGEST_BYTES], whole[_DIGEST_BYTES:]
        return zstandard.ZstdDecompressor().decompress(body) if digest == _seal(name, body) else None

    def put(self, name: str, data: bytes) -> None:
        """Keep `data` under `name`; a reader sees all of it or none."""
        path = self._path(name)
        body = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_seal(name, body) + body)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def trim(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """If the entries take more than `limit_bytes`, remove those longest unused until a fifth of that is free."""
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
        return [Path(folder, name) for folder, _, names in os.walk(self._folder) for name in names]

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name[2:]


def _seal(name: str, body: bytes) -> bytes:
    """Checksum of an entry, its name included: an entry under another's name is foreign."""
    return hashlib.sha256(name.encode() + b"\0" + body).digest()


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None
