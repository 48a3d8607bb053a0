"""Attention by FlexAttention's block-sparse kernel: the CUDA backend; whole blocks between documents are skipped."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def document_mask_mod(doc_ids: Tensor, valid_token_count: Tensor) -> MaskMod:
    """The rule of `dense.document_mask`, one pair at a time: (batch, head, query, key) -> bool."""

    def allowed(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        del head
        valid = (query < valid_token_count[batch]) & (key < valid_token_count[batch])
        return (doc_ids[batch, query] == doc_ids[batch, key]) & (query >= key) & valid

    return allowed


def flex_document_attention(
    doc_ids: Tensor, valid_token_count: Tensor, softcap: float = 0.0
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Attention over (B, T, heads, head_dim). Padding queries give zero. Compiled on CUDA, eager elsewhere."""
    batch, tokens = doc_ids.shape
    mask = create_block_mask(
        document_mask_mod(doc_ids, valid_token_count), batch, None, tokens, tokens, device=str(doc_ids.device)
    )
    capped = _capped(softcap) if softcap else None
    kernel = _compiled() if doc_ids.is_cuda else flex_attention

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        heads_first = (tensor.transpose(1, 2) for tensor in (query, key, value))
        shared = query.shape[2] != key.shape[2]
        out: Tensor = kernel(*heads_first, score_mod=capped, block_mask=mask, enable_gqa=shared)
        return out.transpose(1, 2)

    return attend


@functools.cache
def _capped(softcap: float) -> ScoreMod:
    """The same function for the same bound, or each batch would be compiled anew."""

    def capped(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        del batch, head, query, key
        return softcap * torch.tanh(score / softcap)

    return capped


@functools.cache
def _compiled() -> Any:
    return torch.compile(flex_attention, dynamic=False)
