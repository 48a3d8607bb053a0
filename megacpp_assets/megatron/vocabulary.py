"""Finds the tokenizer that made the tokens of an artifact. It follows manifests and never guesses from the ids."""

from __future__ import annotations

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.artifact import Artifact, open_artifact

TOKENIZER_STAGE = "tokenizer"
VOCABULARY_SIZE = "vocabulary_size"


def vocabulary_size_of(artifact: Artifact) -> int:
    """Return the vocabulary size of the one tokenizer that `artifact` was made with.

    Raises `LineageGap` if its manifest does not state the size, and like `tokenizer_of`.
    """
    return stated_vocabulary_size(tokenizer_of(artifact))


def tokenizer_of(artifact: Artifact) -> Artifact:
    """Return the one tokenizer that `artifact` was made with.

    Raises `LineageGap` if an artifact of the chain is missing or changed, or if the chain does not have exactly one
    tokenizer.
    """
    tokenizers: dict[str, Artifact] = {}
    seen: set[str] = set()
    waiting = [artifact]
    while waiting:
        current = waiting.pop()
        if current.manifest.stage == TOKENIZER_STAGE:
            tokenizers[current.manifest.sha256] = current
            continue
        for reference in current.manifest.inputs:
            found = open_artifact(artifact.root, reference.path)
            if found.manifest.sha256 != reference.manifest_sha256:
                raise LineageGap(
                    reference.path,
                    expected=f"manifest {reference.manifest_sha256}, from which {current.path} was made",
                    found=found.manifest.sha256,
                    do=f"rerun {current.manifest.stage}",
                )
            if reference.path not in seen:
                seen.add(reference.path)
                waiting.append(found)
    if len(tokenizers) != 1:
        raise LineageGap(artifact.path, expected="exactly one tokenizer in its chain", found=len(tokenizers))
    return next(iter(tokenizers.values()))


def stated_vocabulary_size(artifact: Artifact) -> int:
    """Return the vocabulary size in the manifest of a tokenizer or of Megatron files.

    Raises `LineageGap` if it has none.
    """
    for facts in (artifact.manifest.stats, artifact.manifest.config):
        size = facts.get(VOCABULARY_SIZE)
        if isinstance(size, int) and size > 0:
            return size
    raise LineageGap(
        f"manifest of {artifact.path}", expected=VOCABULARY_SIZE, found="none", do=f"rerun {artifact.manifest.stage}"
    )
