"""Finds the artifact that contains a file named on the command line."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import LOCK_FILE


def artifact_beside(prefix: Path) -> Artifact | None:
    """Return the artifact whose folder holds the files of `prefix`, or None. `LineageGap` if it is damaged."""
    return open_artifact(*below_root(prefix.parent)) if is_sealed(prefix.parent) else None


def is_sealed(folder: Path) -> bool:
    """Return whether `folder` has any part of an artifact's seal."""
    return any((folder / name).is_file() for name in (COMPLETE_FILE, MANIFEST_FILE))


def below_root(folder: Path) -> tuple[Path, str]:
    """Return the data root of `folder` and its path there. For a folder outside of a root, return its parent and its
    name.
    """
    root = next((parent for parent in folder.parents if (parent / LOCK_FILE).is_file()), folder.parent)
    return root, folder.relative_to(root).as_posix()
