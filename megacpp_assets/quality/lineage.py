"""The check that packed rows, Megatron files and checkpoints share: one tokenizer behind all of it, the lock's."""

from __future__ import annotations

from typing import Protocol

from megacpp_assets.quality.table import Verdict
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.chain import tokenizers_behind, wrong_tokenizer

NAME = "tokenizer_lineage"
EXPECTED = "one tokenizer behind every input, the one that corpus.lock pins"


class HasArtifact(Protocol):
    """What a stage's checks are asked about."""

    @property
    def artifact(self) -> Artifact:
        """The artifact that is checked."""


def tokenizer_lineage(subject: HasArtifact) -> Verdict:
    """Holds where the chain of the artifact has one tokenizer and `corpus.lock` pins no other."""
    problem = wrong_tokenizer(subject.artifact)
    return Verdict(not problem, problem or f"tokenizer {tokenizers_behind(subject.artifact)[0].commit}")
