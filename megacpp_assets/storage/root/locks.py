"""Locks of a data root. A process that waits logs what it waits for and who holds it. A killed process frees its locks.

If two processes want the same artifact, one makes it, and the other waits and finds it complete. Readers share the lock
of an input, and nobody can replace the input while they read.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.root.layout import file_name

LOCKS_DIRECTORY: Final = ".locks"
_LONGEST_WORD: Final = 400
_LOG = logging.getLogger(__name__)


@contextmanager
def writing(root: Path, path: str) -> Iterator[None]:
    """Hold the exclusive lock of the artifact at `path`; wait until it is free."""
    with _held(root, path, fcntl.LOCK_EX):
        yield


@contextmanager
def reading(root: Path, paths: Iterable[str]) -> Iterator[None]:
    """Hold the shared locks of the artifacts at `paths`; wait until they are free."""
    with ExitStack() as held:
        for path in paths:
            held.enter_context(_held(root, path, fcntl.LOCK_SH))
        yield


@contextmanager
def in_turn(root: Path, path: str, *, writes: bool) -> Iterator[None]:
    """Hold a lock as `writing` or `reading` do, without a log message: use it where waiting is usual."""
    descriptor = open_lock(root, path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if writes else fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def exclusive_lock(root: Path, name: str, what: str, *, expected: str, do: str) -> Iterator[None]:
    """Hold the lock `name` of the root; `SpecError` about `what`, which names the holder, if another process has it."""
    descriptor = open_lock(root, name)
    try:
        if not try_lock(descriptor, fcntl.LOCK_EX):
            raise SpecError(what, expected=expected, found=holder(descriptor), do=do)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _held(root: Path, path: str, kind: int) -> Iterator[None]:
    descriptor = open_lock(root, path)
    try:
        if not try_lock(descriptor, kind):
            _LOG.warning("waiting for %s, locked by %s", path, holder(descriptor))
            fcntl.flock(descriptor, kind)
            _sign(descriptor)
        yield
    finally:
        os.close(descriptor)


def open_lock(root: Path, name: str) -> int:
    """Open the lock `name`, which may be a path, without taking it.

    Closing the descriptor frees the lock, and no child process inherits it.
    """
    folder = root / LOCKS_DIRECTORY
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / f"{file_name(name)}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def try_lock(descriptor: int, kind: int, why: str = "") -> bool:
    """Take the lock and return True, or return False if another process has it. `why` is added to the holder's name."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    _sign(descriptor, why)
    return True


def _sign(descriptor: int, why: str = "") -> None:
    """Write the name of this process into the lock file."""
    words = f"process {os.getpid()} on {socket.gethostname()}{f' for {why}' if why else ''}".encode()
    os.ftruncate(descriptor, len(words))
    os.pwrite(descriptor, words, 0)


def holder(descriptor: int) -> str:
    """Return the name of the process that took the lock last."""
    return os.pread(descriptor, _LONGEST_WORD, 0).decode(errors="replace") or "another process"
