"""The artifacts a training run reads, and their identities as a checkpoint records them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Final

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.training.record import DataIdentity

TOKENIZER_LOCK: Final = "tokenizer.lock"


def data_identity(megatron: Artifact, tokenizer: Artifact, dataset: str) -> DataIdentity:
    """Who the two artifacts are, by their manifests and the tokenizer's lock."""
    lock = tokenizer_lock(tokenizer)
    prefix = files.prefix_name(dataset, TRAIN_SPLIT)
    return DataIdentity(
        tokenizer_commit=str(lock["commit"]),
        tokenizer_sha256=str(lock["sha256"]),
        tokenizer_manifest_sha256=tokenizer.manifest.sha256,
        megatron_prefix=f"{megatron.path}/{prefix}",
        megatron_sha256=megatron.manifest.file(prefix + files.BIN).sha256,
        megatron_manifest_sha256=megatron.manifest.sha256,
        vocabulary_size=int(lock["vocabulary_size"]),
    )


def tokenizer_lock(tokenizer: Artifact) -> Mapping[str, Any]:
    """`tokenizer.lock`: commit, sha256 of `tokenizer.json`, vocabulary size."""
    try:
        lock = tomllib.loads(tokenizer.file(TOKENIZER_LOCK).read_text(encoding="utf-8"))
        missing = {"commit", "sha256", "vocabulary_size"} - lock.keys()
    except ValueError as error:
        raise LineageGap(f"{tokenizer.path}/{TOKENIZER_LOCK}", expected="TOML", found=str(error)) from error
    if missing:
        raise LineageGap(f"{tokenizer.path}/{TOKENIZER_LOCK}", expected=", ".join(sorted(missing)), found="none")
    return lock
