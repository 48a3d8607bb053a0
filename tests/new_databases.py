"""Dagster's databases of a new data root are made once a process and copied into later ones.

Dagster makes sixty tables and indexes, each in a transaction of its own that waits for the disk: two tenths of a CPU
second for a root, and half a second or more where the disk is busy. A root that has a database already is left alone. A
plug-in of pytest; processes that tests start make their databases as a user's do.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_DATABASES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
_first: list[TemporaryDirectory[str]] = []
"""A folder with the databases of the first new root, once there was one."""


def pytest_collection_finish() -> None:
    """Patch the storage of data roots if what was collected has loaded it."""
    storage = sys.modules.get("megacpp_assets.defs.home.storage")
    if storage is None:
        return
    opened = storage.DataRootStorage.__init__

    def once(self: Any, base_dir: str, inst_data: Any = None) -> None:
        home = Path(base_dir)
        new = not any((home / Path(name).parts[0]).exists() for name in _DATABASES)
        if new and _first:
            _copy(Path(_first[0].name), home)
        opened(self, base_dir, inst_data)
        if new and not _first:
            _first.append(TemporaryDirectory(prefix="databases-"))
            _copy(home, Path(_first[0].name))

    storage.DataRootStorage.__init__ = once


def _copy(source: Path, target: Path) -> None:
    """Copy the databases, none of which anybody has open."""
    for name in _DATABASES:
        assert not list((source / name).parent.glob(f"{Path(name).name}-*")), f"{source / name} has a journal"
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
