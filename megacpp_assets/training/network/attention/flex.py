"""Attention with FlexAttention's block-sparse kernel, the CUDA backend. Blocks between documents are skipped."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from torch.nn.functional import pad

from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.attention.layout import DocumentLayout
from megacpp_assets.training.network.attention.scores import Attend
from megacpp_assets.training.network.attention.validity import (
    classify_selected_block_masks,
    normalize_attention_validity,
)
from megacpp_assets.training.network.chunks import ChunkBias

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
_BLOCK = 128
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def document_mask_mod(doc_ids: Tensor, valid_token_count: Tensor) -> MaskMod:
    """Return the rule of `dense.document_mask` for one pair: (batch, head, query, key) -> bool."""

    def allowed(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        del head
        valid = (query < valid_token_count[batch]) & (key < valid_token_count[batch])
        return (doc_ids[batch, query] == doc_ids[batch, key]) & (query >= key) & valid

    return allowed


def document_block_mask(batch: RowBatch, layout: DocumentLayout, device: torch.device) -> BlockMask:
    """Return which blocks of 128 queries and 128 keys have an allowed pair, and which have only allowed pairs.

    The shape of every tensor depends on the shape of the batch only.
    """
    tokens = batch.doc_ids.shape[1]
    validity = normalize_attention_validity(row_valid_token_counts=batch.valid_token_count)
    classes = classify_selected_block_masks(layout, validity, _BLOCK)
    valid_tokens = torch.from_numpy(batch.valid_token_count).to(device)
    rule = document_mask_mod(torch.from_numpy(batch.doc_ids).to(device), valid_tokens)
    partial, entire = (_listed(chosen, device) for chosen in (classes.needs_token_cleanup, classes.fully_safe))
    return BlockMask.from_kv_blocks(*partial, *entire, BLOCK_SIZE=_BLOCK, mask_mod=rule, seq_lengths=(tokens, tokens))


def _listed(chosen: NDArray[np.bool_], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the counts and the indices of the true flags of each row of (B, blocks, blocks).

    Their shapes are (B, 1, blocks) and (B, 1, blocks, blocks).
    """
    counts, columns = chosen.sum(2, dtype=np.int32), np.argsort(~chosen, axis=2, kind="stable").astype(np.int32)
    return torch.from_numpy(counts[:, None]).to(device), torch.from_numpy(columns[:, None]).to(device)


def flex_document_attention(
    batch: RowBatch, layout: DocumentLayout, device: torch.device, softcap: float = 0.0
) -> Attend:
    """Attention over (B, T, heads, head_dim). Padding queries give zero. It is compiled on CUDA and eager elsewhere."""
    mask = document_block_mask(batch, layout, device)
    kernel = _compiled() if device.type == "cuda" else flex_attention

    def attend(query: Tensor, key: Tensor, value: Tensor, bias: ChunkBias | None = None) -> Tensor:
        heads_first = (tensor.transpose(1, 2) for tensor in (query, key, value))
        shared = query.shape[2] != key.shape[2]
        out: Tensor = kernel(*heads_first, score_mod=_score_rule(softcap, bias), block_mask=mask, enable_gqa=shared)
        return out.transpose(1, 2)

    return attend


def _score_rule(softcap: float, bias: ChunkBias | None) -> ScoreMod | None:
    """Return the function that applies `softcap` to a score and then adds `bias`; None if there is nothing to do."""
    capped = _capped(softcap) if softcap else None
    if bias is None:
        return capped
    slots = bias.chunks.ids
    values = pad(bias.values.float(), (0, 1, 0, 1))  # tokens without a chunk use a last chunk whose bias is 0

    def biased(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        bounded = score if capped is None else capped(score, batch, head, query, key)
        return bounded + values[batch, head, slots[batch, query], slots[batch, key]]

    return biased


@functools.cache
def _capped(softcap: float) -> ScoreMod:
    """Return the same function for the same bound; another one would compile each batch again."""

    def capped(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        del batch, head, query, key
        return softcap * torch.tanh(score / softcap)

    return capped


@functools.cache
def _compiled() -> Any:
    return torch.compile(flex_attention, dynamic=False)
