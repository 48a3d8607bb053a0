"""Attention over tensors with heads first: torch's kernel, or our own where scores are capped or biased."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from megacpp_assets.training.network.chunks import ChunkBias


class Attend(Protocol):
    """Attention over the documents of a batch, in which no token sees another document."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, bias: ChunkBias | None = None) -> Tensor:
        """Return a tensor of the shape of `query`, (B, T, heads, head_dim). `bias` is added to the scores.

        `key` and `value` have the same number of heads, which divides the number of heads of `query`.
        """


def as_many_heads(values: Tensor, heads: int) -> Tensor:
    """Return keys or values with each group repeated for the heads that share it.

    Their shape is (B, groups, T, head_dim) or (N, groups, head_dim).
    """
    return values if values.shape[1] == heads else values.repeat_interleave(heads // values.shape[1], 1)


def attended(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, softcap: float, *, bias: Tensor | None = None
) -> Tensor:
    """Return attention over (B, heads, T, head_dim). `mask` is (B, 1, T, T) bool; None is the causal mask of one
    document.

    With `softcap` each score s becomes softcap x tanh(s / softcap) before the mask. Then `bias`, which broadcasts to
    (B, heads, T, T), is added. Queries that see nothing give zero.
    """
    key, value = as_many_heads(key, query.shape[1]), as_many_heads(value, query.shape[1])
    if not softcap and bias is None:
        return scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None)
    if mask is None:
        mask = torch.ones(query.shape[2], query.shape[2], dtype=torch.bool, device=query.device).tril()
    scores = (query @ key.transpose(-1, -2)).float() / query.shape[-1] ** 0.5
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    shares = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
    return shares.masked_fill(~mask, 0).to(value.dtype) @ value
