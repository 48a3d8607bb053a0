"""Everything sealed below a folder, read whole: the data root as it lies on the disk, whatever made it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.lineage.sources import Finding, commit_problems
from megacpp_assets.lineage.tokenizers import registry_problems
from megacpp_assets.storage.artifact import Artifact, Examined, open_artifact
from megacpp_assets.storage.layout import ARTIFACT_FOLDERS, LOCK_FILE, REGISTRY

_SEALS = frozenset({COMPLETE_FILE, MANIFEST_FILE})


def read_all(root: Path) -> Iterator[Examined]:
    """Every artifact of a data root, in the order of paths; never raises for what it finds."""
    for path in artifact_paths(root):
        yield read_one(root, path)


def read_one(root: Path, path: str) -> Examined:
    """The artifact at `path`: each file against the manifest, nothing beside them; git objects and registry by git."""
    try:
        artifact = open_artifact(root, path)
    except LineageGap as gap:
        return Examined(path, 0, 0, ((path, "a complete artifact", str(gap)),))
    problems = (*artifact.problems(), *_strangers(artifact), *_git_problems(artifact))
    return Examined(path, len(artifact.manifest.files), sum(entry.bytes for entry in artifact.manifest.files), problems)


def artifact_paths(root: Path) -> Iterator[str]:
    """Paths of the folders that hold an artifact or what is left of one, relative to `root`."""
    for folder in ARTIFACT_FOLDERS:
        for place, folders, names in os.walk(root / folder):
            path = Path(place).relative_to(root).as_posix()
            folders[:] = sorted(name for name in folders if f"{path}/{name}" != REGISTRY)
            if names and path != folder:
                folders.clear()
                yield path


def _strangers(artifact: Artifact) -> Iterator[Finding]:
    listed = {entry.name for entry in artifact.manifest.files} | _SEALS
    for place, _, names in os.walk(artifact.directory):
        for name in sorted(names):
            path = Path(place, name).relative_to(artifact.directory).as_posix()
            if path not in listed:
                yield f"{artifact.path}/{path}", "the files of the manifest alone", "a file that it does not list"


def _git_problems(artifact: Artifact) -> Iterator[Finding]:
    if artifact.manifest.stage == "pinned_repos":
        yield from commit_problems(artifact)
    # A folder that was copied out of its data root has no registry to be in.
    if artifact.manifest.stage == "tokenizer" and (artifact.root / LOCK_FILE).is_file():
        yield from registry_problems(artifact)
