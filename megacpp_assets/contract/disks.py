"""Free space of the folders that this package writes to, for errors in which the system names no file."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from typing import Final

DATA_ROOT_VARIABLE: Final = "MEGACPP_DATA_ROOT"


def free_space() -> str:
    """Return the free space of the folder for temporary files and of the data root, for example `/tmp has 12 MB`."""
    temporary = tempfile.tempdir or os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - where Python itself looks
    said = []
    for folder in dict.fromkeys((temporary, os.environ.get(DATA_ROOT_VARIABLE) or "data")):
        with suppress(OSError):
            said.append(f"{folder} has {shutil.disk_usage(folder).free / 1e6:,.0f} MB")
    return ", ".join(said)
