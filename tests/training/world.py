"""A tiny data root with everything that `trained_checkpoint` reads: packed rows and a tokenizer artifact."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes, sha256_file
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.loader.documents import row_documents
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root import layout
from megacpp_assets.tokenizer.lock import BPE_MODEL, TokenizerLock
from megacpp_assets.trained.stage import TrainedCheckpointSpec
from megacpp_assets.training.checkpoints.record import MODEL
from megacpp_assets.training.checkpoints.shards import Shards
from tests.loader.rows_artifact import DATASET, MIXTURE, publish_rows, random_rows

VOCABULARY = 100
ROW_TOKENS = 64
COMMIT = "c0ffee" + "0" * 34


def tiny_recipe(**changes: Any) -> TrainingRecipe:
    """A recipe of milliseconds."""
    values: dict[str, Any] = {
        "layers": 1,
        "hidden": 32 if changes.get("device") == "cuda" else 16,  # FlexAttention needs heads of 16 channels
        "heads": 2,
        "steps": 12,
        "save_every": 4,
        "batch_rows": 2,
        "learning_rate": 1e-2,
        "warmup_steps": 2,
        "threads": 1,
        "structure_bottleneck": 8,
    }
    return TrainingRecipe(**(values | changes))


def tiny_root(root: Path) -> Path:
    """`root` with a Megatron and a tokenizer artifact."""
    held_out = random_rows(rows=3, row_tokens=ROW_TOKENS, vocabulary=VOCABULARY, seed=1)
    rows = random_rows(rows=10, row_tokens=ROW_TOKENS, vocabulary=VOCABULARY)
    tokenizer = publish_tokenizer(root)
    publish_rows(root, rows, ROW_TOKENS, held_out, (tokenizer.path,))
    return root


def publish_tokenizer(root: Path) -> Artifact:
    """A tokenizer artifact; training reads its manifest only."""

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        data = canonical_json(
            {"model": {"vocab": {"x" * (1 + index % 4) + chr(256 + index): index for index in range(VOCABULARY)}}}
        )
        publication.write("tokenizer.json", data)
        lock = TokenizerLock(BPE_MODEL, COMMIT, sha256_bytes(data), len(data), TokenizerRecipe(), {}, ())
        publication.write("tokenizer.lock", lock.to_bytes())
        return {"commit": COMMIT, "vocabulary_size": VOCABULARY}

    return publish(Target(root, layout.tokenizer_path(DATASET), "tokenizer", "all", "1", {}), produce)


def tiny_spec(root: Path, **changes: Any) -> TrainedCheckpointSpec:
    """The tiny dataset with the tiny recipe."""
    return TrainedCheckpointSpec(root, DATASET, MIXTURE, tiny_recipe(**changes))


def tree_hashes(root: Path, below: str) -> dict[str, str]:
    """sha256 of every file below `below`, by path."""
    files = sorted(path for path in (root / below).rglob("*") if path.is_file())
    return {str(path.relative_to(root)): sha256_file(path) for path in files}


def tensors_of(checkpoint: Artifact, kind: str = MODEL) -> dict[str, torch.Tensor]:
    """Those of a checkpoint, each whole."""
    shards = Shards(checkpoint)
    return {name: torch.cat(list(shards.pieces(kind, name))) for name in shards.tensors(kind)}


def batch_of(*rows: list[list[int]], row_tokens: int, structure_seed: int | None = None) -> RowBatch:
    """A batch of rows given as documents of token ids, BOS first; structure all zero, or drawn from a seed."""
    input_ids = np.zeros((len(rows), row_tokens), np.int32)
    valid = np.zeros(len(rows), np.int32)
    for line, documents in enumerate(rows):
        tokens = [token for document in documents for token in document]
        input_ids[line, : len(tokens)] = tokens
        valid[line] = len(tokens)
    channels = ("structure_ids", "dep_levels", "ast_depth_ids", "sibling_index_ids", "node_type_ids")
    rng = np.random.default_rng(structure_seed)
    high = 1 if structure_seed is None else 9
    structure = {name: rng.integers(0, high, input_ids.shape).astype(np.int32) for name in channels}
    return RowBatch(input_ids, *row_documents(input_ids, valid), valid, structure, np.zeros_like(input_ids))
