"""The tokenizer check of packed rows, Megatron files and checkpoints.

All their inputs must come from one tokenizer, the one that `corpus.lock` pins.
"""

from __future__ import annotations

from typing import Protocol

from megacpp_assets.quality.shared.table import Verdict
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.chain import tokenizers_of, wrong_tokenizer

NAME = "tokenizer_lineage"
EXPECTED = "one tokenizer for every input, the one that corpus.lock pins"


class HasArtifact(Protocol):
    """The subject of a stage's checks: anything with an artifact."""

    @property
    def artifact(self) -> Artifact:
        """The artifact that is checked."""


def tokenizer_lineage(subject: HasArtifact) -> Verdict:
    """Holds if the artifact's chain has exactly one tokenizer and `corpus.lock` pins no other."""
    problem = wrong_tokenizer(subject.artifact)
    return Verdict(not problem, problem or f"tokenizer {tokenizers_of(subject.artifact)[0].commit}")
