"""Scratch folders of steps. A killed process leaves its folder; the next step of that kind removes it."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OWNER = "owner"
"""A file in each folder. The process that uses the folder holds the lock of this file."""


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder in the temporary folder whose name begins with `prefix`, and remove it at the end.

    Folders with this prefix whose processes have ended are removed first.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        _remove_if_left(left)
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        # A file that another process can see under its final name is locked already.
        descriptor = os.open(f"{name}/{_OWNER}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.rename(f"{name}/{_OWNER}.new", f"{name}/{_OWNER}")
            yield Path(name)
        finally:
            os.close(descriptor)


def _remove_if_left(folder: Path) -> None:
    """Remove a folder of this user whose lock no process holds."""
    try:
        if folder.lstat().st_uid != os.getuid():
            return
        descriptor = os.open(folder / _OWNER, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)
