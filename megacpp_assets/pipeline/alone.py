"""One command at a time changes a data root: commands that pin, run or train take the same lock."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from megacpp_assets.storage.root.locks import exclusive_lock


def only_run(root: Path) -> AbstractContextManager[None]:
    """Hold the lock of `root` within the block. `SpecError` with process and host if another command holds it."""
    do = "wait for it, or end it, and run the same command again"
    return exclusive_lock(root, "run", f"data root {root}", expected="no other run at work", do=do)
