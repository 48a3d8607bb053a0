"""An open-addressing table on the device: 64-bit keys that are not negative, a slot for each."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
from torch import Tensor

from megacpp_assets.tokenizer.gpu.kernels.hashing import EMPTY, LANES, UNUSED, insert_keys

_LOAD = 4


@dataclass(frozen=True, slots=True)
class Table:
    """`keys` (int64, `capacity` + 1): EMPTY or a key; the last one is nobody's."""

    keys: Tensor
    capacity: int

    @staticmethod
    def empty(least: int, device: torch.device) -> Table:
        """Room for `least` keys at a quarter of the slots."""
        capacity = 1 << max(10, (least * _LOAD - 1).bit_length())
        keys = torch.full((capacity + 1,), EMPTY.value, dtype=torch.int64, device=device)
        keys[capacity] = UNUSED.value
        return Table(keys, capacity)

    def insert(self, new: Tensor) -> Tensor:
        """The slots of `new` keys (int64), which are in the table afterwards."""
        slots = torch.empty_like(new)
        if len(new):
            grid = (triton.cdiv(len(new), LANES),)
            insert_keys[grid](self.keys, new, slots, len(new), self.capacity, LANES=LANES)
        return slots
