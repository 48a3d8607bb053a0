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
_LONGEST_WORD: Final = 400
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
def in_turn(root: Path, path: str, *, writes: bool) -> Iterator[None]:
    """As `writing` or `reading`, of what whoever comes first makes for all: to wait is usual, and is not told."""
    descriptor = open_lock(root, path.replace("/", "__"))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if writes else fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def alone(root: Path, name: str, what: str, *, expected: str, do: str) -> Iterator[None]:
    """The lock `name` of the root; `SpecError` about `what`, naming the holder, where another process has it."""
    descriptor = open_lock(root, name)
    try:
        if not taken(descriptor, fcntl.LOCK_EX):
            raise SpecError(what, expected=expected, found=holder(descriptor), do=do)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _held(root: Path, path: str, kind: int) -> Iterator[None]:
    descriptor = open_lock(root, path.replace("/", "__"))
    try:
        if not taken(descriptor, kind):
            _LOG.warning("waiting for %s, last taken by %s", path, holder(descriptor))
            fcntl.flock(descriptor, kind)
            _sign(descriptor)
        yield
    finally:
        os.close(descriptor)


def open_lock(root: Path, name: str) -> int:
    """A descriptor of the lock `name`, not taken yet; closing it gives the lock up. No child process inherits it."""
    folder = root / LOCKS_DIRECTORY
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def taken(descriptor: int, kind: int, why: str = "") -> bool:
    """Whether the lock could be taken at once; whoever asks for its holder then hears `why` too."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    _sign(descriptor, why)
    return True


def _sign(descriptor: int, why: str = "") -> None:
    """Leave word of who took the lock last."""
    words = f"process {os.getpid()} on {socket.gethostname()}{f' for {why}' if why else ''}".encode()
    os.ftruncate(descriptor, len(words))
    os.pwrite(descriptor, words, 0)


def holder(descriptor: int) -> str:
    """Who took the lock last."""
    return os.pread(descriptor, _LONGEST_WORD, 0).decode(errors="replace") or "another process"
