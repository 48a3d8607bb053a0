"""Attention under a boolean mask of all pairs: the reference that every other backend must equal."""

from __future__ import annotations

import torch
from torch import Tensor

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import MAX_DENSE_TOKENS
from megacpp_assets.training.network.attention.scores import Attend, attended
from megacpp_assets.training.network.chunks import ChunkBias


def document_mask(doc_ids: Tensor, valid_token_count: Tensor) -> Tensor:
    """Return (B, 1, T, T) bool: query i sees key j if j <= i, both are valid, and both are in one document.

    `SpecError` for rows of more than `MAX_DENSE_TOKENS`.
    """
    tokens = doc_ids.shape[1]
    if tokens > MAX_DENSE_TOKENS:
        raise SpecError("dense attention mask", expected=f"rows of at most {MAX_DENSE_TOKENS} tokens", found=tokens)
    column = torch.arange(tokens, device=doc_ids.device)
    same = doc_ids[:, :, None] == doc_ids[:, None, :]
    valid = column < valid_token_count[:, None]
    return (same & (column[:, None] >= column) & valid[:, :, None] & valid[:, None, :])[:, None]


def dense_attention(doc_ids: Tensor, valid_token_count: Tensor, softcap: float = 0.0) -> Attend:
    """Attention over (B, T, heads, head_dim) queries, keys and values. Padding queries give zero."""
    mask = document_mask(doc_ids, valid_token_count)

    def attend(query: Tensor, key: Tensor, value: Tensor, bias: ChunkBias | None = None) -> Tensor:
        q, k, v = (tensor.transpose(1, 2) for tensor in (query, key, value))
        added = None if bias is None else bias.of_tokens()
        return attended(q, k, v, mask, softcap, bias=added).transpose(1, 2)

    return attend
