"""One stretch of attention, heads first: what torch's kernel computes, and what it cannot: scores within bounds."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def as_many_heads(values: Tensor, heads: int) -> Tensor:
    """Keys or values (B, groups, T, head_dim), each group repeated for the heads that share it."""
    return values if values.shape[1] == heads else values.repeat_interleave(heads // values.shape[1], 1)


def attended(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, softcap: float) -> Tensor:
    """Attention over (B, heads, T, head_dim); `mask` is (B, 1, T, T) bool, None the causal one of one document.

    With `softcap` each score s becomes softcap x tanh(s / softcap) before the mask. Queries that see nothing give zero.
    """
    key, value = as_many_heads(key, query.shape[1]), as_many_heads(value, query.shape[1])
    if not softcap:
        return scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None)
    if mask is None:
        mask = torch.ones(query.shape[2], query.shape[2], dtype=torch.bool, device=query.device).tril()
    scores = (query @ key.transpose(-1, -2)).float() / query.shape[-1] ** 0.5
    scores = softcap * torch.tanh(scores / softcap)
    shares = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
    return shares.masked_fill(~mask, 0).to(value.dtype) @ value
