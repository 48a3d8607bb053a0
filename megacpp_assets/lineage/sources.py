"""The audit of sources: git recomputes every object id, and `corpus.lock` must name the same commit and licence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.lock.corpus_lock import LockFile
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.repos.fetch import PIN_REF
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.root.layout import LOCK_FILE
from megacpp_assets.storage.root.lock_file import read_lock

Finding = tuple[str, str, str]
"""(file, expected, found)."""


def commit_problems(raw: Artifact) -> Iterator[Finding]:
    """Yield (file, expected, found) if the bare repository lacks the pinned commit or one of its objects."""
    git_dir, commit = raw.directory / OBJECTS, str(raw.manifest.config.get("commit", "none"))
    try:
        found = git("rev-parse", "--verify", f"{PIN_REF}^{{commit}}", git_dir=git_dir).decode().strip()
        git("fsck", "--full", "--no-dangling", "--no-progress", git_dir=git_dir)
    except GitFailed as error:
        yield f"{raw.path}/{OBJECTS}", f"commit {commit}, whole", str(error)
        return
    if found != commit:
        yield f"{raw.path}/{OBJECTS}", f"commit {commit}", f"commit {found}"


def lock_problems(raw: Artifact) -> Iterator[Finding]:
    """Yield (file, expected, found) for each dataset whose `corpus.lock` entry pins this `repo@ref` to another
    commit, or with another licence.
    """
    name, ref, commit, licence = (
        str(raw.manifest.config.get(key, "none")) for key in ("name", "ref", "commit", "license")
    )
    lock, problems = read_corpus_lock(raw.root)
    yield from problems
    for corpus in lock.datasets.values():
        for pin in corpus.known:
            if (pin.name, pin.ref) != (name, ref):
                continue
            if pin.commit != commit:
                yield LOCK_FILE, f"{name}@{ref} at {commit}", f"{name}@{ref} at {pin.commit}"
            if pin.license != licence:
                yield LOCK_FILE, f"{name}@{ref} with licence {licence}", f"{name}@{ref} with licence {pin.license}"


def read_corpus_lock(root: Path) -> tuple[LockFile, list[Finding]]:
    """Return (`corpus.lock`, no problems), or (an empty lock, the reason) if the file is missing or cannot be read."""
    try:
        if not (root / LOCK_FILE).exists():
            return LockFile(), [(LOCK_FILE, "the pins of the corpus", "no such file")]
        return read_lock(root), []
    except (LineageGap, OSError) as error:
        return LockFile(), [(LOCK_FILE, "a readable lock", str(error))]
