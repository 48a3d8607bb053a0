"""Data-parallel helpers of the splitter: where runs end, and which positions a chain of jumps visits."""

from __future__ import annotations

import torch
from torch import Tensor


def shifted(values: Tensor, by: int, fill: int) -> Tensor:
    """`values[i + by]` at each i, `fill` outside."""
    result = torch.full_like(values, fill)
    if abs(by) >= len(values):
        return result
    if by >= 0:
        result[: len(values) - by] = values[by:]
    else:
        result[-by:] = values[:by]
    return result


def first_outside(inside: Tensor) -> Tensor:
    """For each position the first one at or behind it that is not `inside`; the length where there is none. int64."""
    size = len(inside)
    places = torch.arange(size, device=inside.device).masked_fill(inside, size)
    return places.flip(0).cummin(0).values.flip(0)


def visited(jump: Tensor, starts: Tensor) -> Tensor:
    """Which positions are met from any of `starts` by following `jump`, in log2(longest chain) doublings. bool.

    `jump[i] > i`, but for the last entry, which is behind all positions and jumps to itself.
    """
    seen = torch.zeros(len(jump), dtype=torch.bool, device=jump.device)
    seen[starts] = True
    count = -1
    while count != (count := int(seen.sum())):
        seen[jump[seen]] = True
        jump = jump[jump]
    return seen
