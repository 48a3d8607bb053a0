"""Folders that batches read, on hosts that do not share this machine's disks.

A folder is packed once, and unpacked once on each host. Batches keep its path on this machine; on another host,
`located` gives the path there. A folder that no batch reads is removed from a host when the next one is unpacked.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import zstandard

_LOCATED: Final = "MEGACPP_LOCATED"
"""Set for the process of a batch: the folder's path on the client, a line end, its path on this host."""
_ROOT: Final = f"megacpp-folders-{os.getuid()}"
_READY: Final = "ready"


class SharedFolder(Protocol):
    """A folder that batches read. It is pickled, to be prepared on another host."""

    @property
    def path(self) -> str:
        """Its real path on this machine."""

    def prepare(self, path: str) -> None:
        """Write what batches need beside the folder, which is at `path` on the host."""

    def identity(self) -> str:
        """Return the identity of what batches read on a host outside of the folder. It must be equal on all hosts."""


class PackedFolder(NamedTuple):
    """A folder as bytes: a compressed archive, and its hash."""

    digest: str
    data: bytes


def pack_folder(path: str) -> PackedFolder:
    """Return the regular files of the folder at `path`. Equal trees give equal bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder, names, files in os.walk(path):
            names.sort()
            for name in sorted(files):
                full = os.path.join(folder, name)
                entry = tarfile.TarInfo(os.path.relpath(full, path))
                entry.size = os.path.getsize(full)
                with open(full, "rb") as file:
                    archive.addfile(entry, file)
    data = zstandard.ZstdCompressor(level=3).compress(buffer.getvalue())
    return PackedFolder(hashlib.sha256(data).hexdigest(), data)


class Place(NamedTuple):
    """What a folder needs on this host: the identity there, and the variables that tell a process where it is."""

    identity: str
    variables: dict[str, str]


@contextmanager
def unpacked(folder: SharedFolder, packed: PackedFolder) -> Iterator[Place]:
    """Have the folder on this host during the block."""
    place = _root() / packed.digest
    with _held(place):
        local = place / os.path.basename(folder.path)
        if not (place / _READY).exists():
            with _alone(place):
                if not (place / _READY).exists():
                    _unpack(folder, packed, local)
                    (place / "identity").write_text(folder.identity())
                    (place / "identity").rename(place / _READY)
        yield Place((place / _READY).read_text(), {_LOCATED: f"{folder.path}\n{local}"})


def located(path: str) -> str:
    """Return the path on this host of a folder of the client, in the process of a batch."""
    client, _, host = os.environ.get(_LOCATED, "").partition("\n")
    return host if client == path else path


def _root() -> Path:
    root = Path(tempfile.gettempdir(), _ROOT)
    root.mkdir(mode=0o700, exist_ok=True)
    if root.stat().st_uid != os.getuid() or root.is_symlink():
        raise PermissionError(f"{root} belongs to another user")
    return root


def _unpack(folder: SharedFolder, packed: PackedFolder, local: Path) -> None:
    _remove_unused(local.parent)
    shutil.rmtree(local.parent, ignore_errors=True)
    local.mkdir(parents=True)
    data = zstandard.ZstdDecompressor().decompress(packed.data)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(local, filter="data")
    folder.prepare(str(local))


def _remove_unused(kept: Path) -> None:
    """Remove the other folders that no batch on this host reads."""
    for place in kept.parent.iterdir():
        if place.is_dir() and place != kept:
            with _lock(place, fcntl.LOCK_EX | fcntl.LOCK_NB) as taken:
                if taken:
                    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _held(place: Path) -> Iterator[None]:
    with _lock(place, fcntl.LOCK_SH):
        yield


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Let one process at a time unpack."""
    with _lock(place.with_name(f"{place.name}-unpacking"), fcntl.LOCK_EX):
        yield


@contextmanager
def _lock(place: Path, mode: int) -> Iterator[bool]:
    """Hold the file lock of a folder; yield whether it was free."""
    descriptor = os.open(place.with_name(f"{place.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, mode)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
