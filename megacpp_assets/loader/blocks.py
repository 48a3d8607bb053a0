"""Computes from the chunks of a batch and their relations what a model on XLA reads of them, in fixed shapes.

The keys and shapes are those of `canonicalize_structure_meta_for_xla`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.loader.canonical import StructureMeta
from megacpp_assets.loader.chunks import MESSAGES, NEIGHBOURS, ChunkBatch, token_chunk_ids


def semantic_blocks(chunks: ChunkBatch, relations: NDArray[np.bool_]) -> StructureMeta:
    """Return the chunk keys for `relations` (B, R, C, C), which is `chunk_relation_mask` of the chunks.

    `semantic_block_keep_mask` [b, i, j] says whether chunk i may receive messages from chunk j: they are related, and j
    comes before i. `semantic_block_edge_weights` [b, i, j] float32 is the share of j in the mean over the at most
    `NEIGHBOURS` chunks that i receives from, 0 where the mask is false.
    """
    ids, valid = token_chunk_ids(chunks)
    keep: NDArray[np.bool_] = np.tril(relations[:, MESSAGES].any(axis=1), -1)
    received = np.clip(keep.sum(axis=-1), 1, NEIGHBOURS)
    return {
        "token_chunk_ids": ids,
        "token_chunk_valid": valid,
        "semantic_block_starts": chunks.starts,
        "semantic_block_ends": chunks.ends,
        "semantic_block_valid": chunks.valid,
        "semantic_block_keep_mask": keep,
        "semantic_block_edge_weights": (keep / received[..., None]).astype(np.float32),
    }
