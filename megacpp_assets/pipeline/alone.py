"""One command at a time changes a data root: what pins, runs or trains holds the same lock."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.publish import LOCKS_DIRECTORY


def only_run(root: Path) -> FileLock:
    """The held lock of `root`, a context manager; `SpecError` where another command holds it.

    The lock of a killed command is free at once.
    """
    path = root / LOCKS_DIRECTORY / "run.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise SpecError(f"data root {root}", expected="no other run", found="one at work", do="wait for it") from error
    return lock
