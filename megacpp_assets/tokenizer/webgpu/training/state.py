"""The state of a training: words of one buffer, which `shaders/common/state.wgsl` names in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.tokenizer.webgpu.gpu import Gpu

STOP, ACTIVE, LEFT, RIGHT, PRODUCT, SIZE, IDS, MADE, MERGES, DROPPED, POOL_USED, STEPS = range(12)
TARGET, CAPACITY, POOL_CAPACITY, STRING_SLOTS, STATE_WORDS = range(12, 17)
RUNNING, DONE, TABLE_FULL, POOL_FULL = range(4)
"""The values of STOP, the reason why no further merge was made."""


@dataclass(frozen=True, slots=True)
class StateBuffer:
    """The buffer of the state, with access for the host."""

    gpu: Gpu
    buffer: Any

    @staticmethod
    def on(gpu: Gpu) -> StateBuffer:
        """Return a state of zeros."""
        return StateBuffer(gpu, gpu.empty(STATE_WORDS))

    def read(self) -> NDArray[np.uint32]:
        """Return all words."""
        return self.gpu.read(self.buffer, STATE_WORDS)

    def write(self, word: int, value: int) -> None:
        """Set one word."""
        self.gpu.write(self.buffer, np.array([value], dtype=np.uint32), word)
