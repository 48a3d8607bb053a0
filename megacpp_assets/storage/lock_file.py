"""Reading and changing `corpus.lock` of a data root: one writer at a time, never half written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from megacpp_assets.contract.corpus_lock import CorpusLock, LockFile
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.layout import LOCK_FILE, LOCK_HISTORY
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
    """Apply `change` under the root's lock; the file is left alone when nothing changes, else the old one is kept."""
    with writing(root, LOCK_FILE):
        before = read_lock(root)
        after = change(before)
        if after != before:
            _keep(root, before)
            write_atomic(root / LOCK_FILE, after.to_bytes())
        return after


def lock_history(root: Path) -> list[tuple[int, LockFile]]:
    """(number, lock) of every state that `corpus.lock` had before its present one, oldest first."""
    return [(int(file.stem), LockFile.from_bytes(file.read_bytes())) for file in _entries(root)]


def _keep(root: Path, lock: LockFile) -> None:
    """Add `lock` to the history, unless a crash left it there already or there was no lock yet."""
    if not lock.datasets:
        return
    entries, data = _entries(root), lock.to_bytes()
    if entries and entries[-1].read_bytes() == data:
        return
    folder = root / LOCK_HISTORY
    folder.mkdir(exist_ok=True)
    number = int(entries[-1].stem) + 1 if entries else 1
    write_atomic(folder / f"{number:06d}.toml", data)


def _entries(root: Path) -> list[Path]:
    """Zero-padded numbers, so the order of names is the order of time."""
    folder = root / LOCK_HISTORY
    if not folder.is_dir():
        return []
    return sorted(folder / name for name in os.listdir(folder) if re.fullmatch(r"[0-9]{6}\.toml", name))
