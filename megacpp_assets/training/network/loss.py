"""Cross entropy over a large vocabulary without the (tokens, vocabulary) matrix: a chunk of tokens at a time.

torch's own `linear_cross_entropy` does the same, but its first call imports the compiler (2 s a process) and it is
slower on two cores (0.39 s against 0.29 s for 4096 x 8192).
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor

CHUNK_TOKENS: Final = {"cpu": 128, "cuda": 2048}
"""By device. On a CPU a chunk's scores stay in cache: 0.5 s a step on one core, against 0.7 s in one piece."""


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Loss and both gradients in one pass, so that no chunk's logits are kept or computed again."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
        total = hidden.new_zeros(())
        hidden_gradient, weight_gradient = torch.empty_like(hidden), torch.zeros_like(weight)
        size = CHUNK_TOKENS[hidden.device.type]
        for start in range(0, len(hidden), size):
            chunk = slice(start, start + size)
            x, target, keep = hidden[chunk], targets[chunk], mask[chunk]
            scores = torch.log_softmax(x @ weight.t(), dim=-1)
            total -= scores.gather(1, target[:, None])[:, 0].mul_(keep).sum()
            # d loss / d logits = softmax - one-hot. The mask is put on the narrow factors, not on the wide matrix.
            scores.exp_()
            scores.scatter_add_(1, target[:, None], torch.full_like(target, -1, dtype=scores.dtype)[:, None])
            hidden_gradient[chunk] = (scores @ weight).mul_(keep[:, None])
            weight_gradient.addmm_(scores.t(), x * keep[:, None])
        ctx.save_for_backward(hidden_gradient, weight_gradient)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * gradients[0], weight_gradient * gradients[0], None, None


def masked_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
    """Sum of the losses in nats of the tokens that `mask` (N,) keeps.

    `hidden` is (N, D), `weight` (V, D), `targets` (N,) int64 below V. Memory is O(chunk x V).
    """
    total: Tensor = _ChunkedCrossEntropy.apply(hidden, weight, targets, mask.to(hidden.dtype))  # type: ignore[no-untyped-call]
    return total
