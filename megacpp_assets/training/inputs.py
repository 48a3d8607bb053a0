"""The artifacts that a training run reads, and their identities as a checkpoint records them."""

from __future__ import annotations

from dataclasses import dataclass

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import TokenizerDrift
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.chain import tokenizers_of, wrong_tokenizer


@dataclass(frozen=True, slots=True)
class DataIdentity:
    """The data that a checkpoint was trained on: the tokenizer, the training `.bin`, and the manifests that list them.

    `megatron_prefix` is relative to the data root, e.g. `megatron/DATASET/base/4k/DATASET_train`.
    """

    tokenizer_commit: str
    tokenizer_sha256: str
    tokenizer_manifest_sha256: str
    megatron_prefix: str
    megatron_sha256: str
    megatron_manifest_sha256: str
    vocabulary_size: int


def data_identity(megatron: Artifact, tokenizer: Artifact, dataset: str) -> DataIdentity:
    """Return the identity of the two artifacts, from their manifests."""
    prefix = files.prefix_name(dataset, TRAIN_SPLIT)
    return DataIdentity(
        tokenizer_commit=str(tokenizer.manifest.stats["commit"]),
        tokenizer_sha256=tokenizer.manifest.file(TOKENIZER_FILE).sha256,
        tokenizer_manifest_sha256=tokenizer.manifest.sha256,
        megatron_prefix=f"{megatron.path}/{prefix}",
        megatron_sha256=megatron.manifest.file(prefix + files.BIN).sha256,
        megatron_manifest_sha256=megatron.manifest.sha256,
        vocabulary_size=int(tokenizer.manifest.stats["vocabulary_size"]),
    )


def require_one_tokenizer(mixture: str, megatron: Artifact, tokenizer: Artifact) -> None:
    """Raise `TokenizerDrift` unless the rows were made with the tokenizer that the lock pins and the checkpoint names.

    It is called before the first step, because a checkpoint that mixes tokenizers is worthless.
    """
    found = wrong_tokenizer(megatron)
    if not found:
        commits = {behind.commit for behind in tokenizers_of(megatron)}
        named = str(tokenizer.manifest.stats["commit"])
        found = "" if commits == {named} else f"{', '.join(sorted(commits))} in its rows, {named} in {tokenizer.path}"
    if found:
        raise TokenizerDrift(
            f"training of {mixture}",
            expected="rows of the one tokenizer that corpus.lock pins",
            found=found,
            do="run `megacpp run`, which builds the stages after the tokenizer again",
        )
