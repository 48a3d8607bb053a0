"""The tolerance of a comparison of two sums: it follows from the dtype and the number of terms, never from a guess."""

from __future__ import annotations

import torch
from torch import Tensor


def assert_equal_up_to_rounding(found: Tensor, expected: Tensor, *, terms: int, largest: float = 1.0) -> None:
    """Compare two values that were summed in different orders.

    Each addition rounds by at most half of the dtype's epsilon, relative to the sum so far. Two orders of `terms`
    additions differ by at most `terms * eps` of the largest value (Higham, Accuracy and Stability, section 4.2).
    `largest` is the largest sum on the way to the result. It decides where sums cancel, so that the result is smaller.
    """
    scale = max(largest, float(expected.detach().abs().max()))
    tolerance = terms * torch.finfo(expected.dtype).eps * scale
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)
