"""The table of strings that a product may equal, filled on the host before the first merge.

Four rows of `capacity` int64: where the string is in the cells (-1 for a free slot), its length, its id (-1 for none
yet), its flags. The kernels look strings up by the same hash.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.tokenizer.gpu.kernels.hashing import MIX_FIRST, MIX_SECOND, PLACE_STRIDE


def string_table(flags: Mapping[bytes, int], first_cell: int, capacity: int) -> NDArray[np.int64]:
    """The table of the keys of `flags`, which lie end to end in the cells from `first_cell` on. (4, capacity)"""
    table = np.full((4, capacity), -1, dtype=np.int64)
    table[3] = 0
    at = first_cell
    for text, flag in flags.items():
        slot = string_hash(text) & (capacity - 1)
        while table[0, slot] >= 0:
            slot = (slot + 1) & (capacity - 1)
        table[:, slot] = at, len(text), -1, flag
        at += len(text)
    return table


def string_hash(text: bytes) -> int:
    """The kernels' hash of the cells of `text`."""
    cells = np.frombuffer(text, dtype=np.uint8).astype(np.int64)
    with np.errstate(over="ignore"):
        total = _mixed(cells + 1 + np.arange(len(cells)) * PLACE_STRIDE.value).sum()
        return int(_mixed(np.array([total + len(text)]))[0])


def _mixed(value: NDArray[np.int64]) -> NDArray[np.int64]:
    value = (value ^ (value >> 33)) * np.int64(MIX_FIRST.value)
    value = (value ^ (value >> 29)) * np.int64(MIX_SECOND.value)
    return value ^ (value >> 32)
