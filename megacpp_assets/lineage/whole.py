"""Reads every artifact below a folder and verifies its files, whether or not a chain leads to it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.lineage.sources import Finding, commit_problems
from megacpp_assets.lineage.tokenizers import registry_problems
from megacpp_assets.storage.artifact import Artifact, Examined, open_artifact
from megacpp_assets.storage.root.layout import ARTIFACT_DEPTHS, LOCK_FILE, RECEIPTS, REGISTRY
from megacpp_assets.storage.work import WORK_SUFFIX

_SEALS = frozenset({COMPLETE_FILE, MANIFEST_FILE})


def read_all(root: Path) -> Iterator[Examined]:
    """Verify every artifact of a data root, in the order of paths, then yield those that are missing and stray files.

    Problems are returned, never raised.
    """
    found = set()
    for path in artifact_paths(root):
        found.add(path)
        yield read_one(root, path)
    for path in sorted(_checked_paths(root) - found):
        absent = f"no such folder; a run that needs it makes it again, else remove {RECEIPTS}/{path}.json"
        yield Examined(path, 0, 0, ((path, "the artifact that its receipt names", absent),))
    for path in _stray_files(root):
        yield Examined(path, 0, 0, ((path, "only folders of artifacts here", "a file that belongs to none"),))


def _checked_paths(root: Path) -> set[str]:
    """Return the paths of all artifacts that have a receipt, which stays when somebody moves the artifact away."""
    folder = root / RECEIPTS
    paths = (place.relative_to(folder).as_posix().removesuffix(".json") for place in folder.rglob("*.json"))
    return {path for path in paths if not path.endswith(WORK_SUFFIX)}


def read_one(root: Path, path: str) -> Examined:
    """Verify the artifact at `path`.

    Every file must match the manifest and no other file may exist. Git verifies the objects of a repository and the
    tokenizer's registry.
    """
    try:
        artifact = open_artifact(root, path)
    except LineageGap as gap:
        return Examined(path, 0, 0, ((path, "a complete artifact", str(gap)),))
    files = artifact.manifest.files
    problems = (*artifact.problems(), *_unlisted_files(artifact), *_git_problems(artifact))
    return Examined(path, len(files), sum(entry.bytes for entry in files), problems)


def artifact_paths(root: Path) -> Iterator[str]:
    """Yield paths, relative to `root`, of the folders that hold an artifact or the remains of one."""
    for path, holds_artifact, _ in _folders(root):
        if holds_artifact and any(names for _, _, names in os.walk(root / path)):
            yield path


def _stray_files(root: Path) -> Iterator[str]:
    """Yield paths of files above the artifacts, such as those of a file manager."""
    for path, holds_artifact, names in _folders(root):
        if not holds_artifact:
            yield from (f"{path}/{name}" for name in sorted(names))


def _folders(root: Path) -> Iterator[tuple[str, bool, Sequence[str]]]:
    """Yield each folder down to those of artifacts: its path, whether its depth is that of artifacts, its files."""
    for folder, depth in ARTIFACT_DEPTHS.items():
        for place, folders, names in os.walk(root / folder):
            path = Path(place).relative_to(root).as_posix()
            holds_artifact = path.count("/") == depth
            below = [] if holds_artifact else folders
            folders[:] = sorted(name for name in below if f"{path}/{name}" != REGISTRY)
            yield path, holds_artifact, names


def _unlisted_files(artifact: Artifact) -> Iterator[Finding]:
    """Yield a problem for each file of the artifact's folder that the manifest does not list."""
    listed = {entry.name for entry in artifact.manifest.files} | _SEALS
    for place, _, names in os.walk(artifact.directory):
        for name in sorted(names):
            path = Path(place, name).relative_to(artifact.directory).as_posix()
            if path not in listed:
                yield f"{artifact.path}/{path}", "only files that the manifest lists", "a file that it does not list"


def _git_problems(artifact: Artifact) -> Iterator[Finding]:
    if artifact.manifest.stage == "pinned_repos":
        yield from commit_problems(artifact)
    # An artifact that was copied out of its data root has no registry to be compared with.
    if artifact.manifest.stage == "tokenizer" and (artifact.root / LOCK_FILE).is_file():
        yield from registry_problems(artifact)
