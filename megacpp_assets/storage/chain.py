"""The tokenizers behind an artifact, by the manifests of its chain: there must be one, and it must be the lock's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.lock_file import read_lock

_TOKENIZER: Final = "tokenizer"
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, order=True)
class Behind:
    """A tokenizer that the artifact at the path `user` was made with."""

    commit: str
    sha256: str
    user: str


def tokenizers_behind(artifact: Artifact) -> list[Behind]:
    """Every tokenizer of the chain with what read it; `LineageGap` for an input that is gone or no longer the one that
    was used.
    """
    return sorted(set(_behind(artifact, set())))


def wrong_tokenizer(artifact: Artifact) -> str:
    """What is wrong with the tokenizers behind `artifact`: none, several, or another than the lock pins; "" if nothing.

    A data root that pins no tokenizer for the dataset, as before its first one has passed its checks, asks for none.
    """
    behind = tokenizers_behind(artifact)
    if not behind:
        return "no tokenizer behind it"
    identities = {(each.commit, each.sha256) for each in behind}
    if len(identities) > 1:
        return "several tokenizers: " + ", ".join(f"{each.commit[:_DIGITS]} in {each.user}" for each in behind)
    pinned = locked_tokenizer(artifact)
    if pinned and pinned not in identities:
        return (
            f"tokenizer {behind[0].commit[:_DIGITS]} in {behind[0].user}, where corpus.lock pins {pinned[0][:_DIGITS]}"
        )
    return ""


def locked_tokenizer(artifact: Artifact) -> tuple[str, str] | None:
    """Commit and sha256 of the tokenizer that `corpus.lock` pins for the dataset of `artifact`."""
    corpus = read_lock(artifact.root).datasets.get(artifact.path.split("/")[1])
    return (corpus.tokenizer.commit, corpus.tokenizer.sha256) if corpus and corpus.tokenizer else None


def _behind(artifact: Artifact, seen: set[str]) -> Iterator[Behind]:
    for reference in artifact.manifest.inputs:
        found = open_artifact(artifact.root, reference.path)
        if found.manifest.sha256 != reference.manifest_sha256:
            expected, is_now = f"manifest {reference.manifest_sha256}", f"manifest {found.manifest.sha256}"
            do = f"megacpp run brings {artifact.path} up to date"
            raise LineageGap(reference.path, expected=expected, found=is_now, do=do)
        if found.manifest.stage == _TOKENIZER:
            sha256 = found.manifest.file(TOKENIZER_FILE).sha256
            yield Behind(str(found.manifest.stats.get("commit", "")), sha256, artifact.path)
        elif found.path not in seen:
            seen.add(found.path)
            yield from _behind(found, seen)
