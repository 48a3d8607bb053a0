"""Scratch folders of steps. A killed process leaves its folder; the next step of that kind removes it."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OWNER = "owner"
"""A file in each folder. The process that uses the folder holds the lock of this file."""
_NEW_OWNER = "owner.new"
_UNOWNED_SECONDS = 3600
"""A folder that has had no owner for this long is left by a process that was killed before it had made the file."""


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder in the temporary folder whose name begins with `prefix`, and remove it at the end.

    Folders with this prefix whose processes have ended are removed first.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        _remove_if_left(left)
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        # A file that another process can see under its final name is locked already.
        descriptor = os.open(f"{name}/{_NEW_OWNER}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.rename(f"{name}/{_NEW_OWNER}", f"{name}/{_OWNER}")
            yield Path(name)
        finally:
            os.close(descriptor)


def _remove_if_left(folder: Path) -> None:
    """Remove a folder of this user whose lock no process holds."""
    try:
        found = folder.lstat()
        if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
            return
        descriptor = os.open(folder / _OWNER, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        _remove_if_unowned(folder)
        return
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)


def _remove_if_unowned(folder: Path) -> None:
    """Remove an old folder that never had an owner. It can contain nothing else than the owner's file to be."""
    try:
        if time.time() - folder.lstat().st_mtime > _UNOWNED_SECONDS:
            (folder / _NEW_OWNER).unlink(missing_ok=True)
            folder.rmdir()
    except OSError:
        pass
