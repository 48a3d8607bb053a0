"""A loader's batch as a TPU takes it: the same names, shapes and types every time, whatever its documents hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.columns import STRUCTURE_CHANNELS
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.loader.blocks import semantic_blocks
from megacpp_assets.loader.canonical import canonicalize_structure_meta_for_xla, chunk_shapes
from megacpp_assets.loader.chunks import chunk_relation_mask
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.attention.layout import document_layout
from megacpp_assets.training.network.model import ModelConfig, loss_weights
from megacpp_assets.training.network.ngrams import NgramConfig, multipliers
from megacpp_assets.training.network.structure import CHANNEL_OF

Arrays = dict[str, NDArray[np.generic]]


def arrays_of(batch: RowBatch, config: ModelConfig, context_loss: float) -> Arrays:
    """(B, T) int32 `input_ids`, `target_ids`, `positions`, `documents` (from 1, 0 for padding) and each channel of the
    structure by its name, float32 `weights`, which are 0 where there is no loss, (B, T, tables) int32 `ngrams`, and
    (B, D, MAX_PLATFORM_IDS) int32 `platforms` of documents. With chunks (B, R, C, C) bool `relations`, and the chunk
    keys of `canonicalize_structure_meta_for_xla`, through which structure and chunks go: shapes, dtypes and names are
    the same in every batch. `SchemaViolation` if a value has another shape.

    N-grams are hashed here: it takes 64 bits, which a TPU does not have.
    """
    positions = document_layout(batch.doc_ids, batch.valid_token_count).positions
    real = np.arange(batch.doc_ids.shape[1]) < batch.valid_token_count[:, None]
    found: Arrays = {
        "input_ids": batch.input_ids.astype(np.int32),
        "target_ids": batch.target_ids.astype(np.int32),
        "positions": positions.astype(np.int32),
        "documents": np.where(real, batch.doc_ids + 1, 0).astype(np.int32),
        "weights": loss_weights(batch, context_loss),
    }
    has_chunks = bool(config.relation_bias or config.tree_steps)
    chunks = _chunks(batch) if has_chunks else {}
    columns = {STRUCTURE_CHANNELS[name]: values for name, values in batch.structure.items()}
    has_structure = bool(config.structure.components)
    whole = canonicalize_structure_meta_for_xla(
        batch.input_ids, {**columns, **chunks}, structure=has_structure, tree_ffn=has_chunks
    )
    for component in config.structure.components:
        channel = CHANNEL_OF[component]
        found[channel] = whole[STRUCTURE_CHANNELS[channel]]
    if config.structure.platform_embed_enabled:
        if batch.platforms is None:
            do = "open the rows with their platforms"
            raise SpecError("batch of a model that knows of platforms", expected="its platforms", found="none", do=do)
        found["platforms"] = batch.platforms
    if has_chunks:
        found["relations"] = chunks["relations"]
        found |= {name: whole[name] for name in chunk_shapes(*batch.input_ids.shape)}
    if config.ngrams.heads:
        found["ngrams"] = _ngram_places(batch.input_ids, positions, config.ngrams)
    return found


def _chunks(batch: RowBatch) -> Arrays:
    if batch.chunks is None:
        do = "open the rows with their chunks"
        raise SpecError("batch of a model that knows of chunks", expected="its chunks", found="none", do=do)
    relations = chunk_relation_mask(batch.chunks)
    return {"relations": relations, **semantic_blocks(batch.chunks, relations)}


def _ngram_places(ids: NDArray[np.int32], positions: NDArray[np.int64], config: NgramConfig) -> NDArray[np.int32]:
    """Where each table's vector of the n-gram that ends at a token stands among all vectors, as `NgramEmbedding` has
    it."""
    factors = np.array(multipliers(config, max(config.orders)), dtype=np.int64)
    sizes = np.array([size for _, size in config.tables], dtype=np.int64)
    hashed = np.zeros((*ids.shape, len(sizes)), dtype=np.int64)
    for back in range(max(config.orders)):
        token = np.where(positions >= back, np.roll(ids, back, -1).astype(np.int64) + 1, 0)
        hashed ^= token[..., None] * factors[:, back]
    places: NDArray[np.int32] = (hashed % sizes + np.cumsum(sizes) - sizes).astype(np.int32)
    return places
