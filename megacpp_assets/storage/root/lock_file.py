"""Reads and changes `corpus.lock` of a data root: one writer at a time, and each write is atomic."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, LockFile
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.remote import pull_lock, push_lock
from megacpp_assets.storage.root.layout import LOCK_FILE, LOCK_HISTORY
from megacpp_assets.storage.root.locks import writing

_NOTE: Final = ".json"
"""The suffix of the note of a state: when it was replaced, and, if known, by whom and why."""


def read_lock(root: Path) -> LockFile:
    """Return the lock file; an empty one if it is missing."""
    path = root / LOCK_FILE
    return LockFile.from_bytes(path.read_bytes()) if path.exists() else LockFile()


def read_corpus(root: Path, dataset: str) -> CorpusLock:
    """Return the pins of one dataset. `SpecError`, which names the known datasets, if it is missing."""
    lock = read_lock(root)
    if dataset not in lock.datasets:
        do = f"megacpp run makes the dataset of a recipe; or name another data root than {root} with --data-root"
        if dataset:
            raise SpecError.unknown("dataset", dataset, sorted(lock.datasets), do)
        known = ", ".join(sorted(lock.datasets)) or "none"
        raise SpecError(f"active dataset of {root}", expected="a dataset of corpus.lock", found=known, do=do)
    return lock.datasets[dataset]


def update_lock(root: Path, change: Callable[[LockFile], LockFile], note: Mapping[str, Any] | None = None) -> LockFile:
    """Apply `change` under the root's lock. If the file changes, the old state is kept.

    `note` is kept with the old state: who changed it, and why. The time is added as `at`. In a cache the bucket's
    lock is changed first. If another machine changes it meanwhile, `change` is applied again to the new state.
    """
    dated = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **(note or {})}
    with writing(root, LOCK_FILE):
        while True:
            state = pull_lock(root)
            before = read_lock(root)
            after = change(before)
            is_stored = state is None or bool(state.generation) or not after.datasets
            if after == before and is_stored:
                return after
            if push_lock(root, state, after.to_bytes(), dated):
                _keep(root, before, dated)
                write_atomic(root / LOCK_FILE, after.to_bytes())
                return after


def lock_history(root: Path) -> list[tuple[int, LockFile]]:
    """Return (number, lock) of every earlier state of `corpus.lock`, oldest first."""
    return [(int(file.stem), LockFile.from_bytes(file.read_bytes())) for file in _entries(root)]


def lock_notes(root: Path) -> dict[int, dict[str, Any]]:
    """Return number of a state -> the note of the change that ended it. Changes of earlier versions have none."""
    notes = {int(file.stem): file.with_suffix(_NOTE) for file in _entries(root)}
    return {number: json.loads(file.read_bytes()) for number, file in notes.items() if file.exists()}


def _keep(root: Path, lock: LockFile, note: Mapping[str, Any]) -> None:
    """Add `lock` to the history, unless a crash left it there already or the lock was missing."""
    if not lock.datasets:
        return
    entries, data = _entries(root), lock.to_bytes()
    if entries and entries[-1].read_bytes() == data:
        path = entries[-1]
    else:
        folder = root / LOCK_HISTORY
        folder.mkdir(exist_ok=True)
        path = folder / f"{int(entries[-1].stem) + 1 if entries else 1:06d}.toml"
    # The note is written before the state. A note that a crash left without a state is overwritten by the next change.
    write_atomic(path.with_suffix(_NOTE), canonical_json(dict(note)))
    if not path.exists():
        write_atomic(path, data)


def _entries(root: Path) -> list[Path]:
    """Return the files of earlier states, oldest first: their names are zero-padded numbers."""
    folder = root / LOCK_HISTORY
    if not folder.is_dir():
        return []
    return sorted(folder / name for name in os.listdir(folder) if re.fullmatch(r"[0-9]{6}\.toml", name))
