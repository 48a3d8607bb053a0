"""Folders that batches read, on hosts that do not share this machine's disks.

A folder travels to a host that does not have its content, and is unpacked there once. Batches keep its path on this
machine; on another host, `located` gives the path there. A folder that no batch uses is removed from a host when the
next one is unpacked.
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
from pathlib import Path, PurePosixPath
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

    def content(self) -> str:
        """Return a hash of its files."""

    def prepare(self, path: str) -> None:
        """Write what batches need beside the folder, which is at `path` on the host."""

    def identity(self) -> str:
        """Return the identity of what batches read on a host outside of the folder. It must be equal on all hosts."""


class NeededFolder(NamedTuple):
    """What a host must have: a folder with these files, and other files, such as headers, with this identity."""

    folder: SharedFolder
    identity: str
    content: str

    @staticmethod
    def of(folder: SharedFolder) -> NeededFolder:
        """Return `folder` as it is on this machine."""
        return NeededFolder(folder, folder.identity(), folder.content())

    @property
    def name(self) -> str:
        """Its name on a host."""
        return hashlib.sha256(f"{self.identity} {self.content} {self.last_part}".encode()).hexdigest()

    @property
    def last_part(self) -> str:
        """The last part of its path, which is the same on every host."""
        return os.path.basename(self.folder.path)


class NotOnHost(Exception):
    """A host lacks a folder, and its bytes did not come with the batch."""


def content_of(path: str) -> str:
    """Return a hash of the regular files of the folder at `path`: their names and bytes."""
    digest = hashlib.sha256()
    for name in _files(path):
        digest.update(hashlib.sha256(os.fsencode(name)).digest())
        with open(os.path.join(path, name), "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _files(path: str) -> Iterator[str]:
    """Yield the files of the folder at `path`, relative to it, in an order of their names. `OSError` if it is gone."""
    for place, names, files in os.walk(path, onerror=_raise):
        names.sort()
        for name in sorted(files):
            yield os.path.relpath(os.path.join(place, name), path)


def _raise(error: OSError) -> None:
    raise error


def pack_folder(path: str) -> bytes:
    """Return a compressed archive of the regular files of the folder at `path`."""
    buffer = io.BytesIO()
    with (
        zstandard.ZstdCompressor(level=3).stream_writer(buffer, closefd=False) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in _files(path):
            entry = tarfile.TarInfo(name)
            entry.size = os.path.getsize(os.path.join(path, name))
            with open(os.path.join(path, name), "rb") as file:
                archive.addfile(entry, file)
    return buffer.getvalue()


class Place(NamedTuple):
    """Where a folder is on the client and on this host, and its identity on this host."""

    client: str
    host: str
    identity: str


def variables(places: Iterable[Place]) -> dict[str, str]:
    """Return the variables that tell the process of a batch where the folders are."""
    return {_LOCATED: "\n".join(path for place in places for path in (place.client, place.host))}


@contextmanager
def unpacked(needed: NeededFolder, packed: bytes | None) -> Iterator[Place]:
    """Have the folder on this host during the block. `NotOnHost` if it is not here and its bytes are not either."""
    folder, place = needed.folder, _root() / needed.name
    with _held(place):
        local = place / needed.last_part
        if not (place / _READY).exists():
            if packed is None:
                raise NotOnHost
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


def _unpack(folder: SharedFolder, packed: bytes, local: Path) -> None:
    _remove_unused(local.parent)
    shutil.rmtree(local.parent, ignore_errors=True)
    local.mkdir(parents=True)
    with (
        zstandard.ZstdDecompressor().stream_reader(packed) as data,
        tarfile.open(fileobj=data, mode="r|") as archive,
    ):
        for entry in archive:
            _extract(archive, entry, local)
    folder.prepare(str(local))


def _extract(archive: tarfile.TarFile, entry: tarfile.TarInfo, local: Path) -> None:
    """Write one regular file below `local`. The filters of `extractall` are missing before Python 3.11.4.

    Raises:
        ValueError: the entry is no regular file, or would be outside of `local`.
    """
    path, file = PurePosixPath(entry.name), archive.extractfile(entry) if entry.isreg() else None
    if file is None or path.is_absolute() or ".." in path.parts:
        raise ValueError(f"archive of a folder; expected regular files below it, found {entry.name!r}")
    place = local / path
    place.parent.mkdir(parents=True, exist_ok=True)
    with file, place.open("wb") as written:
        shutil.copyfileobj(file, written)
    os.utime(place, (entry.mtime, entry.mtime))


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
