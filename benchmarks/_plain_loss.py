"""The model as it was before: its cross entropy scores all tokens and takes exponentials twice, and MKL multiplies."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from megacpp_assets.training.network.model import GPT, ModelInput

_CHUNK_TOKENS = 128


class PlainGPT(GPT):
    """The same model with that cross entropy and those products."""

    def forward(self, batch: ModelInput) -> Tensor:
        """Return the weighted sum of the losses in nats: a scalar."""
        with torch.backends.mkldnn.flags(enabled=False):
            hidden, weight = self._states(batch)
        given = hidden.flatten(0, 1), weight, batch.target_ids.flatten(), batch.loss_weights.flatten()
        total: Tensor = _Plain.apply(*given)  # type: ignore[no-untyped-call]
        return total


class _Plain(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, mask: Tensor) -> Tensor:
        total = torch.zeros(())
        gradients = torch.empty_like(hidden), torch.zeros_like(weight)
        for start in range(0, len(hidden), _CHUNK_TOKENS):
            chunk = slice(start, start + _CHUNK_TOKENS)
            x, target, keep = hidden[chunk], targets[chunk], mask[chunk]
            scores = torch.log_softmax(x @ weight.t(), dim=-1)
            total -= scores.gather(1, target[:, None])[:, 0].mul_(keep).sum()
            scores.exp_()
            scores.scatter_add_(1, target[:, None], torch.full_like(target, -1, dtype=scores.dtype)[:, None])
            gradients[0][chunk] = (scores @ weight).mul_(keep[:, None])
            gradients[1].addmm_(scores.t(), x * keep[:, None])
        ctx.save_for_backward(*gradients)
        return total

    @staticmethod
    def backward(ctx: Any, *by: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden, weight = ctx.saved_tensors
        return hidden * by[0], weight * by[0], None, None
