"""The tokenizer's part of the audit: its lock, its bytes, and the registry commit that must hold the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.layout import REGISTRY
from megacpp_assets.storage.lock_file import read_lock
from megacpp_assets.tokenizer.stage import pin_of

TOKENIZER_FILE = "tokenizer.json"


def tokenizer_identity(artifact: Artifact) -> dict[str, str]:
    """Commit and sha256 of the tokenizer artifact."""
    pin = pin_of(artifact)
    return {"commit": pin.commit, "sha256": pin.sha256}


def registry_problems(artifact: Artifact) -> Iterator[tuple[str, str, str]]:
    """(file, expected, found) where the registry's commit or `corpus.lock` disagrees with the artifact."""
    pin = pin_of(artifact)
    try:
        stored = git("cat-file", "blob", f"{pin.commit}:{TOKENIZER_FILE}", git_dir=artifact.root / REGISTRY)
    except GitFailed as error:
        yield REGISTRY, f"commit {pin.commit} with {TOKENIZER_FILE}", str(error)
        return
    if (found := sha256_bytes(stored)) != pin.sha256:
        yield REGISTRY, f"sha256 {pin.sha256} at commit {pin.commit}", f"sha256 {found}"
    dataset = artifact.path.rpartition("/")[2]
    corpus = read_lock(artifact.root).datasets.get(dataset)
    locked = corpus.tokenizer if corpus else None
    if locked is not None and (locked.commit, locked.sha256) != (pin.commit, pin.sha256):
        yield "corpus.lock", f"tokenizer {locked.commit}", f"tokenizer {pin.commit}"
