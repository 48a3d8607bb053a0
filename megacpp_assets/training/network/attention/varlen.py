"""Attention over concatenated documents by `cu_seqlens`. Scores between two documents are never computed.

In 16 bits on CUDA a varlen kernel computes it: FlashAttention 3 or 2 if installed, else torch's `varlen_attn`.
Elsewhere torch's attention runs once per sequence, because its kernel of nested tensors has no causal form there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.training.network.attention.scores import Attend, as_many_heads
from megacpp_assets.training.network.chunks import ChunkBias

Varlen = Callable[[Tensor, Tensor, Tensor, Tensor, int], Tensor]
"""A function of (N, heads, width) queries, (N, groups, width) keys and values, (S + 1,) int32 bounds, and the length of
the longest sequence. It returns the shape of the queries.
"""

_FLASH: Final = ("flash_attn_interface", "flash_attn")
"""Modules that have `flash_attn_varlen_func`: FlashAttention 3, then 2."""
_SHORT: Final = (torch.float16, torch.bfloat16)


def varlen_attention(batch: RowBatch, device: torch.device) -> Attend:
    """Causal attention within each document over (B, T, heads, head_dim). Padding queries give zero."""
    bounds = torch.from_numpy(batch.cu_seqlens).to(device)
    longest = int(np.diff(batch.cu_seqlens).max())
    padding = torch.from_numpy(batch.segment_ids == 0).to(device)[..., None, None]

    def attend(query: Tensor, key: Tensor, value: Tensor, bias: ChunkBias | None = None) -> Tensor:
        if bias is not None:
            do = "set training.attention to auto"
            raise SpecError("varlen attention", expected="no relation bias", found="a relation bias", do=do)
        q, k, v = (part.flatten(0, 1) for part in (query, key, value))
        found = kernel_for(device.type, query.dtype)(q, k, v, bounds, longest)
        return found.reshape(query.shape).masked_fill(padding, 0)

    return attend


def kernel_for(device: str, dtype: torch.dtype) -> Varlen:
    """Return the fastest kernel that is installed."""
    if device != "cuda" or dtype not in _SHORT:
        return by_sequence
    return _flash() or _torchs() or by_sequence


@cache
def _flash() -> Varlen | None:
    for name in _FLASH:
        if find_spec(name) is not None:
            return flash_kernel(import_module(name).flash_attn_varlen_func)
    return None


def flash_kernel(function: Callable[..., Any]) -> Varlen:
    """Return a kernel that calls a `flash_attn_varlen_func`, whose gradients are the same in every run."""

    def kernel(query: Tensor, key: Tensor, value: Tensor, bounds: Tensor, longest: int) -> Tensor:
        found = function(
            query, key, value, bounds, bounds, max_seqlen_q=longest, max_seqlen_k=longest, causal=True,
            deterministic=True,
        )  # fmt: skip
        # Some versions of FlashAttention 3 also return the sums of the softmax.
        out: Tensor = found[0] if isinstance(found, tuple) else found
        return out

    return kernel


@cache
def _torchs() -> Varlen | None:
    """Return torch's kernel, or None before torch 2.10."""
    if find_spec("torch.nn.attention.varlen") is None:
        return None
    function = import_module("torch.nn.attention.varlen").varlen_attn

    def kernel(query: Tensor, key: Tensor, value: Tensor, bounds: Tensor, longest: int) -> Tensor:
        key, value = (as_many_heads(part, query.shape[1]) for part in (key, value))
        out: Tensor = function(query, key, value, bounds, bounds, longest, longest, window_size=(-1, 0))
        return out

    return kernel


def by_sequence(query: Tensor, key: Tensor, value: Tensor, bounds: Tensor, longest: int) -> Tensor:
    """Compute one sequence at a time with torch's kernel, on any device and in any dtype."""
    del longest
    lengths = bounds.diff().tolist()
    parts = (query, as_many_heads(key, query.shape[1]), as_many_heads(value, query.shape[1]))
    # One split per tensor. The backward pass of a slice per sequence would write a whole row of zeros each time.
    stretches = (part.transpose(0, 1)[None].split_with_sizes(lengths, 2) for part in parts)
    out = [scaled_dot_product_attention(q, k, v, is_causal=True) for q, k, v in zip(*stretches, strict=True)]
    return torch.cat(out, 2)[0].transpose(0, 1)
