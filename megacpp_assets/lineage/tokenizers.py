"""The audit of a tokenizer: its lock, its bytes, and the registry commit, which must hold the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import LineageGap, TokenizerDrift
from megacpp_assets.contract.lock.corpus_lock import TokenizerPin
from megacpp_assets.lineage.sources import Finding, read_corpus_lock
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.root.layout import LOCK_FILE, REGISTRY
from megacpp_assets.tokenizer.lock import LOCK_FILE as TOKENIZER_LOCK
from megacpp_assets.tokenizer.lock import pin_of


def tokenizer_identity(artifact: Artifact) -> dict[str, str]:
    """Return the commit and sha256 that the manifest of a tokenizer artifact records."""
    pin = _manifest_pin(artifact)
    return {"commit": pin.commit, "sha256": pin.sha256}


def registry_problems(artifact: Artifact) -> Iterator[Finding]:
    """Yield (file, expected, found) where the tokenizer's lock, the registry or `corpus.lock` differs from the
    artifact.
    """
    pin, problems = _lock_pin(artifact)
    yield from problems
    if pin is not None:
        if pin.commit != (stated := _manifest_pin(artifact)).commit:
            yield f"{artifact.path}/{TOKENIZER_LOCK}", f"commit {stated.commit}", f"commit {pin.commit}"
        yield from _commit_problems(artifact, pin)
        yield from _lock_problems(artifact, pin)


def pin_problems(artifact: Artifact) -> Iterator[Finding]:
    """Yield (file, expected, found) where `corpus.lock` differs from the artifact's manifest. Git is not called."""
    yield from _lock_problems(artifact, _manifest_pin(artifact))


def _manifest_pin(artifact: Artifact) -> TokenizerPin:
    """Return the tokenizer's commit and sha256 in the artifact's manifest."""
    sha256 = next((entry.sha256 for entry in artifact.manifest.files if entry.name == TOKENIZER_FILE), "")
    return TokenizerPin(str(artifact.manifest.stats.get("commit", "")), sha256)


def _lock_pin(artifact: Artifact) -> tuple[TokenizerPin | None, list[Finding]]:
    """Return (pin of the tokenizer's lock, no problems), or (None, the reason) if the lock cannot be read."""
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
