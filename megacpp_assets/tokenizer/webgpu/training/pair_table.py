"""The table of pairs on the device: a 64-bit count for each, found by open addressing (shaders/common/pairs.wgsl)."""

from __future__ import annotations

from typing import Any

import numpy as np

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.tokenizer.webgpu.gpu import LANES, Dispatch, Gpu
from megacpp_assets.tokenizer.webgpu.hashing import pair_hash
from megacpp_assets.tokenizer.webgpu.training.state import CAPACITY, StateBuffer

BLOCK = 1024
"""The number of slots that one workgroup reduces, and the minimum size of a table."""
_BEST_WORDS = 5


class PairTable:
    """`ids` and `counts` have two words per slot.

    `usage` has the number of used slots, and whether a pair found no slot.
    """

    def __init__(self, gpu: Gpu, state: StateBuffer, slots: int) -> None:
        self._gpu = gpu
        self._state = state
        self.usage = gpu.empty(2)
        self._allocate(slots, dropped=[])

    def _allocate(self, slots: int, dropped: list[tuple[int, int]]) -> None:
        gpu = self._gpu
        self.slots = max(BLOCK, 1 << (slots - 1).bit_length())
        if 2 * self.slots > gpu.most_words:
            raise EnvironmentLacks(
                "GPU adapter",
                expected=f"buffers of {8 * self.slots:,} bytes for the pairs of this corpus",
                found=f"at most {4 * gpu.most_words:,}",
                do="set MEGACPP_TOKENIZER_DEVICE=cpu",
            )
        ids = np.zeros((self.slots, 2), dtype=np.uint32)
        counts = np.zeros((self.slots, 2), dtype=np.uint32)
        for pair in dropped:
            slot = _free_slot(ids, pair)
            ids[slot] = pair[0] + 1, pair[1] + 1
            counts[slot, 1] = 0xC0000000
        self.ids, self.counts = gpu.upload(ids), gpu.upload(counts)
        self.dirty = gpu.empty(self.slots // BLOCK)
        self._block_best = gpu.empty(_BEST_WORDS * self.slots // BLOCK)
        self.chosen = gpu.empty(_BEST_WORDS)
        gpu.write(self.usage, np.array([len(dropped), 0], dtype=np.uint32))
        self._state.write(CAPACITY, self.slots)

    def is_full(self) -> bool:
        """Return whether more than half of the slots are used, or a pair found no slot."""
        used, overflowed = self._gpu.read(self.usage, 2).tolist()
        return bool(overflowed) or used > self.slots // 2

    def grow(self, symbols: int) -> None:
        """Return a new table for the pairs of `symbols` symbols.

        It keeps only dropped pairs, so all must be counted again.
        """
        used, overflowed = self._gpu.read(self.usage, 2).tolist()
        counts = self._gpu.read(self.counts, 2 * self.slots).reshape(-1, 2)
        ids = self._gpu.read(self.ids, 2 * self.slots).reshape(-1, 2)
        dropped = (ids[counts[:, 1] >= 1 << 31] - 1).tolist()
        wanted = 4 * min(used, symbols + len(dropped))
        self._allocate(max(wanted, 2 * self.slots if overflowed else BLOCK), [(left, right) for left, right in dropped])

    def clear_call(self) -> Dispatch:
        """Set all counts to zero."""
        return self._gpu.call("clear_table", [self.counts, self.dirty, self._state.buffer], self.slots)

    def find_calls(self) -> list[Dispatch]:
        """Find the best pair."""
        state = self._state.buffer
        blocks = [self.counts, self.ids, self.dirty, self._block_best, state]
        return [
            self._gpu.call("find_max4", blocks, self.slots // 4),
            self._gpu.call("find_max_final_det", [self._block_best, self.chosen, state], LANES),
        ]

    def largest_count(self) -> int:
        """The count of the best pair now; 0 if there is none."""
        self._gpu.run(self.find_calls())
        high, low = self._gpu.read(self.chosen, 2).tolist()
        return int(high << 32 | low)


def _free_slot(ids: np.ndarray[Any, np.dtype[np.uint32]], pair: tuple[int, int]) -> int:
    mask = len(ids) - 1
    slot = pair_hash(*pair) & mask
    probe = 1
    while ids[slot].any():
        slot = (slot + probe) & mask
        probe += 1
    return slot
