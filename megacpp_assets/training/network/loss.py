"""Cross entropy over a large vocabulary without the (tokens, vocabulary) matrix: one chunk of tokens at a time.

torch's own `linear_cross_entropy` does the same, but its first call imports the compiler (2 s per process) and it is
slower on two cores (0.39 s against 0.29 s for 4096 x 8192).
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor

CHUNK_TOKENS: Final = {"cpu": 128, "cuda": 2048}
"""Tokens of a chunk, by device. On a CPU a chunk's scores stay in cache: 0.5 s per step on one core, 0.7 s without
chunks.
"""


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Computes the loss and both gradients in one pass, so that no chunk's logits are kept or computed again."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        hidden_gradient = torch.empty_like(hidden)
        weight_gradient = torch.zeros_like(weight, dtype=torch.float32)
        size = CHUNK_TOKENS[hidden.device.type]
        for start in range(0, len(hidden), size):
            chunk = slice(start, start + size)
            x, target, keep = hidden[chunk], targets[chunk], mask[chunk]
            scores = torch.log_softmax((x @ weight.t()).float(), dim=-1)
            total -= scores.gather(1, target[:, None])[:, 0].mul_(keep).sum()
            # d loss / d logits = softmax - one-hot. The mask multiplies the narrow factors, not the wide matrix.
            scores.exp_()
            scores.scatter_add_(1, target[:, None], torch.full_like(target, -1, dtype=scores.dtype)[:, None])
            narrow = scores.to(weight.dtype)
            hidden_gradient[chunk] = (narrow @ weight).mul_(keep[:, None])
            _add_product(weight_gradient, narrow.t(), x * keep[:, None].to(x.dtype))
        ctx.save_for_backward(hidden_gradient, weight_gradient.to(weight.dtype))
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        by = gradients[0]
        return (
            hidden_gradient * by.to(hidden_gradient.dtype),
            weight_gradient * by.to(weight_gradient.dtype),
            None,
            None,
        )


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Compute `total += left @ right`, where `total` is float32 whatever the factors are."""
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right


def masked_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Return the sum of the losses, in nats, of the tokens that `mask` (N,) keeps.

    `hidden` is (N, D), `weight` (V, D) of the same dtype, `targets` (N,) int64 below V. Scores, their normalisation and
    all sums over tokens are float32. Memory is O(chunk x V).
    """
    total: Tensor = _ChunkedCrossEntropy.apply(hidden, weight, targets, mask.float())  # type: ignore[no-untyped-call]
    return total
