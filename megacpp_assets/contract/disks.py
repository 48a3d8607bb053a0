"""Free space of the folders that this package writes to, for errors in which the system names no file."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

DATA_ROOT_VARIABLE: Final = "MEGACPP_DATA_ROOT"


def free_space(*folders: Path) -> str:
    """Return the free space of `folders`, of the folder for temporary files and of the data root: `/tmp has 12 MB`."""
    temporary = tempfile.tempdir or os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - where Python itself looks
    said = []
    for folder in dict.fromkeys((*map(str, folders), temporary, os.environ.get(DATA_ROOT_VARIABLE) or "data")):
        with suppress(OSError):
            said.append(f"{folder} has {shutil.disk_usage(folder).free / 1e6:,.0f} MB")
    return ", ".join(said)
