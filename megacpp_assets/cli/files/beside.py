"""The artifact that a file named on the command line lies in, if it lies in one."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.layout import LOCK_FILE


def artifact_beside(prefix: Path) -> Artifact | None:
    """The artifact in whose folder the files of `prefix` lie; `LineageGap` if it is damaged, None if there is none."""
    return open_artifact(*below_root(prefix.parent)) if is_sealed(prefix.parent) else None


def is_sealed(folder: Path) -> bool:
    """Whether `folder` has anything of an artifact's seal."""
    return any((folder / name).is_file() for name in (COMPLETE_FILE, MANIFEST_FILE))


def below_root(folder: Path) -> tuple[Path, str]:
    """The data root that `folder` lies in and its path there; of a folder on its own, the one above it."""
    root = next((parent for parent in folder.parents if (parent / LOCK_FILE).is_file()), folder.parent)
    return root, folder.relative_to(root).as_posix()
