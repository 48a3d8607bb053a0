"""Matrix products of the model. In float32 on a CPU they are oneDNN's: they take less time than MKL's, which has no
AVX-512 for processors of AMD.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """Return `x @ weight.t()`: (..., K) by (N, K) gives (..., N). Both have gradients."""
    if not _is_for_onednn(x):
        return functional.linear(x, weight)
    product: Tensor = _Linear.apply(x.flatten(0, -2), weight)  # type: ignore[no-untyped-call]
    return product.view(*x.shape[:-1], len(weight))


def product(left: Tensor, right: Tensor) -> Tensor:
    """Return `left @ right.t()`: (M, K) by (N, K) gives (M, N). It has no gradients."""
    return _by_onednn(left, right) if _is_for_onednn(left) else left @ right.t()


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _by_onednn(x, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        by = gradients[0]
        of_x = _by_onednn(by, weight.t()) if ctx.needs_input_grad[0] else None
        # Its transpose, as oneDNN copies a left factor that is not contiguous, and `x` is the narrower one.
        of_weight = _by_onednn(x.t(), by.t()).t() if ctx.needs_input_grad[1] else None
        return of_x, of_weight


def _by_onednn(left: Tensor, right: Tensor) -> Tensor:
    result: Tensor = torch.ops.mkldnn._linear_pointwise(left.contiguous(), right, None, "none", [], "")
    return result


def _is_for_onednn(x: Tensor) -> bool:
    """Whether `x` is float32 on a CPU, with values. A compiled graph chooses for itself, and autocast another dtype."""
    return (
        x.device.type == "cpu"
        and x.dtype == torch.float32
        and x.numel() > 0
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cpu")
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and bool(torch.backends.mkldnn.enabled)
    )
