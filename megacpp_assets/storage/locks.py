"""Locks of a data root. Whoever must wait says for what and for whom; the lock of a killed process is free at once.

Two processes at one artifact: one makes it, the other waits and finds it made. What is read for it cannot be made anew
meanwhile: inputs are held together by all who read them, against the one who would write.
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

LOCKS_DIRECTORY: Final = ".locks"
_LOG = logging.getLogger(__name__)


@contextmanager
def writing(root: Path, path: str) -> Iterator[None]:
    """Nobody else reads or writes what lies at `path`; waits until that is so."""
    with _held(root, path, fcntl.LOCK_EX):
        yield


@contextmanager
def reading(root: Path, paths: Iterable[str]) -> Iterator[None]:
    """Nobody writes what lies at `paths`; waits until that is so."""
    with ExitStack() as held:
        for path in paths:
            held.enter_context(_held(root, path, fcntl.LOCK_SH))
        yield


@contextmanager
def alone(root: Path, name: str, what: str, *, expected: str, do: str) -> Iterator[None]:
    """The lock `name` of the root; `SpecError` about `what`, naming the holder, where another process has it."""
    descriptor = _open(root, name)
    try:
        if not _taken(descriptor, fcntl.LOCK_EX):
            raise SpecError(what, expected=expected, found=_holder(descriptor), do=do)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _held(root: Path, path: str, kind: int) -> Iterator[None]:
    descriptor = _open(root, path.replace("/", "__"))
    try:
        if not _taken(descriptor, kind):
            _LOG.warning("waiting for %s, last taken by %s", path, _holder(descriptor))
            fcntl.flock(descriptor, kind)
            _sign(descriptor)
        yield
    finally:
        os.close(descriptor)


def _open(root: Path, name: str) -> int:
    folder = root / LOCKS_DIRECTORY
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _taken(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    _sign(descriptor)
    return True


def _sign(descriptor: int) -> None:
    """Leave word of who took the lock last."""
    words = f"process {os.getpid()} on {socket.gethostname()}".encode()
    os.ftruncate(descriptor, len(words))
    os.pwrite(descriptor, words, 0)


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 200, 0).decode(errors="replace") or "another process"
