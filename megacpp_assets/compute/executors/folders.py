"""Folders that batches read, on hosts that do not share this machine's disks.

A folder is packed once, and unpacked once on each host. Batches keep its path on this machine; on another host,
`located` gives the path there. A folder that no batch uses is removed from a host when the next one is unpacked.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import zstandard

_LOCATED: Final = "MEGACPP_LOCATED"
"""Set for the process of a batch: two lines for each folder, its path on the client and its path on this host."""
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
    """A folder as bytes: a compressed archive, and the hash of it and of the identity of what is beside it."""

    digest: str
    data: bytes


def pack_folder(path: str, identity: str) -> PackedFolder:
    """Return the regular files of the folder at `path`, of `identity`. Equal trees give equal bytes."""
    buffer = io.BytesIO()
    with (
        zstandard.ZstdCompressor(level=3).stream_writer(buffer, closefd=False) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for place, names, files in os.walk(path):
            names.sort()
            for name in sorted(files):
                _add(archive, os.path.join(place, name), path)
    data = buffer.getvalue()
    digest = hashlib.sha256(identity.encode() + b"\n" + hashlib.sha256(data).digest())
    return PackedFolder(digest.hexdigest(), data)


def _add(archive: tarfile.TarFile, path: str, top: str) -> None:
    entry = tarfile.TarInfo(os.path.relpath(path, top))
    entry.size = os.path.getsize(path)
    with open(path, "rb") as file:
        archive.addfile(entry, file)


class Place(NamedTuple):
    """Where a folder is on the client and on this host, and its identity on this host."""

    client: str
    host: str
    identity: str


def variables(places: Iterable[Place]) -> dict[str, str]:
    """Return the variables that tell the process of a batch where the folders are."""
    return {_LOCATED: "\n".join(path for place in places for path in (place.client, place.host))}


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
        yield Place(folder.path, str(local), (place / _READY).read_text())


def located(path: str) -> str:
    """Return the path on this host of a folder of the client, in the process of a batch."""
    clients_and_hosts = os.environ.get(_LOCATED, "").split("\n")
    return dict(zip(clients_and_hosts[::2], clients_and_hosts[1::2], strict=False)).get(path, path)


@contextmanager
def kept_folder(name: str) -> Iterator[Path]:
    """Have a folder of this host that batches write to, for the block. Later batches find what is in it, or nothing."""
    place = _root() / name
    with _held(place):
        place.mkdir(exist_ok=True)
        yield place


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
    with (
        zstandard.ZstdDecompressor().stream_reader(packed.data) as data,
        tarfile.open(fileobj=data, mode="r|") as archive,
    ):
        archive.extractall(local, filter="data")
    folder.prepare(str(local))


def _remove_unused(kept: Path) -> None:
    """Remove the other folders that no batch on this host uses."""
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
