"""Durable file operations: write under a temporary name, flush, fsync, rename, fsync the directory."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from megacpp_assets.contract.errors import naming

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
    """Return the temporary path for writing `path`. It may hold the rest of a killed writer. One writer at a time."""
    return path.with_name(f".{path.name}{TEMPORARY_SUFFIX}")


def promote(temporary: Path, path: Path) -> None:
    """Rename a finished temporary file to `path`, durably."""
    fsync_file(temporary)
    temporary.replace(path)
    fsync_directory(path.parent)


def remove_tree(folder: Path) -> None:
    """Remove `folder` with everything in it. An `OSError` names the whole path of what could not be removed, where
    `shutil` names its last part, or its folder from Python 3.13 on.
    """
    refused: list[str] = []

    def refuse(_: object, path: str, __: object) -> None:
        refused.append(path)
        raise  # noqa: PLE0704 - what `shutil` caught

    try:
        if sys.version_info >= (3, 12):
            shutil.rmtree(folder, onexc=refuse)
        else:
            shutil.rmtree(folder, onerror=refuse)
    except OSError as error:
        error.filename = next(iter(refused), str(folder))
        raise


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old bytes or the new, never a part. One writer at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_path(path)
    with _promoted(temporary, path):
        temporary.write_bytes(data)


def write_any(path: Path, data: bytes) -> None:
    """Do the same as `write_atomic` for any number of writers at once. The last one wins."""
    with _own_temporary(path) as temporary:
        temporary.write_bytes(data)


def copy_any(path: Path, source: Path) -> None:
    """Do the same as `write_any` with the bytes of the file `source`, which may be large."""
    with _own_temporary(path) as temporary:
        shutil.copyfile(source, temporary)


@contextmanager
def undone_on_error(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` if the block raises anything, an interrupt included.

    An `OSError` of `undo` is ignored: the error of the block says more.
    """

    def undone() -> None:
        with suppress(OSError):
            undo()

    with ExitStack() as stack:
        stack.callback(undone)
        yield
        stack.pop_all()


@contextmanager
def _own_temporary(path: Path) -> Iterator[Path]:
    """Give a temporary path that no other writer has. On a clean exit it is renamed to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY_SUFFIX)
    os.close(descriptor)
    with _promoted(Path(name), path):
        yield Path(name)


@contextmanager
def _promoted(temporary: Path, path: Path) -> Iterator[None]:
    """Rename `temporary` to `path` on a clean exit, and remove it after an error."""
    with undone_on_error(temporary.unlink), naming(path):
        yield
        promote(temporary, path)
