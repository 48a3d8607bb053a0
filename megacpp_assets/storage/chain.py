"""Finds the tokenizers from which an artifact was made, by its chain of manifests.

There must be exactly one, and it must be the one in `corpus.lock`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.lock_file import read_lock

_TOKENIZER: Final = "tokenizer"
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, order=True)
class UsedTokenizer:
    """A tokenizer that the artifact at the path `user` was made with."""

    commit: str
    sha256: str
    user: str


def tokenizers_of(artifact: Artifact) -> list[UsedTokenizer]:
    """Return every tokenizer of the chain with the artifact that used it. `LineageGap` for an input that is missing or
    was replaced.
    """
    return sorted(set(_used(artifact, set())))


def wrong_tokenizer(artifact: Artifact) -> str:
    """Return the fault of the tokenizers of `artifact`: none, several, or another than in the lock; "" if there is no
    fault.

    If the lock has no tokenizer for the dataset yet, any single tokenizer is right.
    """
    used = tokenizers_of(artifact)
    if not used:
        return "no tokenizer in its chain"
    identities = {(each.commit, each.sha256) for each in used}
    if len(identities) > 1:
        return "several tokenizers: " + ", ".join(f"{each.commit[:_DIGITS]} in {each.user}" for each in used)
    pinned = locked_tokenizer(artifact)
    if pinned and pinned not in identities:
        return f"tokenizer {used[0].commit[:_DIGITS]} in {used[0].user}, where corpus.lock pins {pinned[0][:_DIGITS]}"
    return ""


def locked_tokenizer(artifact: Artifact) -> tuple[str, str] | None:
    """Return commit and sha256 of the tokenizer that `corpus.lock` pins for the dataset of `artifact`, or None."""
    corpus = read_lock(artifact.root).datasets.get(artifact.path.split("/")[1])
    return (corpus.tokenizer.commit, corpus.tokenizer.sha256) if corpus and corpus.tokenizer else None


def _used(artifact: Artifact, seen: set[str]) -> Iterator[UsedTokenizer]:
    for reference in artifact.manifest.inputs:
        found = open_artifact(artifact.root, reference.path)
        if found.manifest.sha256 != reference.manifest_sha256:
            expected, found_now = f"manifest {reference.manifest_sha256}", f"manifest {found.manifest.sha256}"
            do = f"megacpp run brings {artifact.path} up to date"
            raise LineageGap(reference.path, expected=expected, found=found_now, do=do)
        if found.manifest.stage == _TOKENIZER:
            sha256 = found.manifest.file(TOKENIZER_FILE).sha256
            yield UsedTokenizer(str(found.manifest.stats.get("commit", "")), sha256, artifact.path)
        elif found.path not in seen:
            seen.add(found.path)
            yield from _used(found, seen)
