"""The tokenizer's part of the audit: its lock, its bytes, and the registry commit that must hold the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import LineageGap, TokenizerDrift
from megacpp_assets.contract.lock.corpus_lock import TokenizerPin
from megacpp_assets.lineage.sources import Finding, read_corpus_lock
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.layout import LOCK_FILE, REGISTRY
from megacpp_assets.tokenizer.lock import LOCK_FILE as TOKENIZER_LOCK
from megacpp_assets.tokenizer.lock import pin_of


def tokenizer_identity(artifact: Artifact) -> dict[str, str]:
    """Commit and sha256 of the tokenizer artifact, by its manifest."""
    pin = _stated(artifact)
    return {"commit": pin.commit, "sha256": pin.sha256}


def registry_problems(artifact: Artifact) -> Iterator[Finding]:
    """(file, expected, found) where its lock, the registry's commit or `corpus.lock` disagrees with the artifact."""
    pin, problems = _pin(artifact)
    yield from problems
    if pin is not None:
        if pin.commit != (stated := _stated(artifact)).commit:
            yield f"{artifact.path}/{TOKENIZER_LOCK}", f"commit {stated.commit}", f"commit {pin.commit}"
        yield from _commit_problems(artifact, pin)
        yield from _lock_problems(artifact, pin)


def pin_problems(artifact: Artifact) -> Iterator[Finding]:
    """(file, expected, found) where `corpus.lock` disagrees with the artifact's manifest. Git is not asked."""
    yield from _lock_problems(artifact, _stated(artifact))


def _stated(artifact: Artifact) -> TokenizerPin:
    """What the manifest says of the tokenizer."""
    sha256 = next((entry.sha256 for entry in artifact.manifest.files if entry.name == TOKENIZER_FILE), "")
    return TokenizerPin(str(artifact.manifest.stats.get("commit", "")), sha256)


def _pin(artifact: Artifact) -> tuple[TokenizerPin | None, list[Finding]]:
    try:
        return pin_of(artifact), []
    except (TokenizerDrift, LineageGap, OSError) as error:
        return None, [(f"{artifact.path}/{TOKENIZER_LOCK}", "a readable lock", str(error))]


def _commit_problems(artifact: Artifact, pin: TokenizerPin) -> Iterator[Finding]:
    try:
        stored = git("cat-file", "blob", f"{pin.commit}:{TOKENIZER_FILE}", git_dir=artifact.root / REGISTRY)
    except GitFailed as error:
        yield REGISTRY, f"commit {pin.commit} with {TOKENIZER_FILE}", str(error)
        return
    if (found := sha256_bytes(stored)) != pin.sha256:
        yield REGISTRY, f"sha256 {pin.sha256} at commit {pin.commit}", f"sha256 {found}"


def _lock_problems(artifact: Artifact, pin: TokenizerPin) -> Iterator[Finding]:
    lock, problems = read_corpus_lock(artifact.root)
    yield from problems
    corpus = lock.datasets.get(artifact.path.rpartition("/")[2])
    locked = corpus.tokenizer if corpus else None
    if locked is not None and (locked.commit, locked.sha256) != (pin.commit, pin.sha256):
        yield LOCK_FILE, f"tokenizer {locked.commit}", f"tokenizer {pin.commit}"
