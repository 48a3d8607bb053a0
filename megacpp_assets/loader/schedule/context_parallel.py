"""Computes which tokens of packed sequences a context-parallel rank has, with the same result as Transformer Engine.

Each sequence is cut into 2 x cp_size equal parts. Rank r has parts r and 2 x cp_size - 1 - r, so that all ranks have
the same work under a causal mask. Transformer Engine's own function is used on CUDA if it is installed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from megacpp_assets.contract.errors import SchemaViolation

try:
    import transformer_engine_torch
except ImportError:
    transformer_engine_torch = None


def padded_length(length: int, cp_size: int) -> int:
    """Return the smallest length, at least `length`, that can be cut for `cp_size` ranks."""
    parts = 2 * cp_size if cp_size > 1 else 1
    return -(-length // parts) * parts


def get_thd_partitioned_indices(cu_seqlens: Tensor, total_tokens: int, cp_size: int, cp_rank: int) -> Tensor:
    """Return the positions of this rank's tokens in the concatenated sequences, (total_tokens / cp_size,) int32.

    `cu_seqlens` (n + 1,) int32 has the starts of the padded sequences. Raises `SchemaViolation` if a sequence cannot be
    cut into 2 x cp_size parts.
    """
    if transformer_engine_torch is not None and cu_seqlens.is_cuda:
        found: Tensor = transformer_engine_torch.thd_get_partitioned_indices(cu_seqlens, total_tokens, cp_size, cp_rank)
        return found
    lengths = (cu_seqlens[1:] - cu_seqlens[:-1]).long()
    if int((lengths % (2 * cp_size)).sum()) or int(cu_seqlens[-1]) != total_tokens:
        expected = f"multiples of {2 * cp_size} that add up to {total_tokens}"
        raise SchemaViolation("padded lengths of sequences", expected=expected, found=lengths.tolist())
    half = torch.repeat_interleave(lengths // (2 * cp_size), lengths // cp_size)
    starts = torch.repeat_interleave(cu_seqlens[:-1].long(), lengths // cp_size)
    place = torch.arange(total_tokens // cp_size, device=cu_seqlens.device) - starts // cp_size
    # How many parts of other ranks come before this rank's first part, and before its second part.
    skipped = torch.where(place < half, cp_rank, 2 * (cp_size - 1) - cp_rank)
    return (starts + place + half * skipped).int()
