"""Reading and changing `corpus.lock` of a data root: one writer at a time, never half written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from megacpp_assets.contract.corpus_lock import CorpusLock, LockFile
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.layout import LOCK_FILE
from megacpp_assets.storage.locks import writing


def read_lock(root: Path) -> LockFile:
    """The lock file, empty where there is none yet."""
    path = root / LOCK_FILE
    return LockFile.from_bytes(path.read_bytes()) if path.exists() else LockFile()


def read_corpus(root: Path, dataset: str) -> CorpusLock:
    """The pins of one dataset; `SpecError` naming those there are."""
    lock = read_lock(root)
    if dataset not in lock.datasets:
        known = ", ".join(sorted(lock.datasets)) or "none"
        raise SpecError(f"dataset {dataset!r}", expected="a dataset of corpus.lock", found=known, do="megacpp run")
    return lock.datasets[dataset]


def update_lock(root: Path, change: Callable[[LockFile], LockFile]) -> LockFile:
    """Apply `change` under the root's lock; the file is left alone when nothing changes."""
    with writing(root, LOCK_FILE):
        before = read_lock(root)
        after = change(before)
        if after != before:
            write_atomic(root / LOCK_FILE, after.to_bytes())
        return after
