"""Buffers that are kept between calls. A buffer that is too small is replaced by one that is half as large again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.tokenizer.webgpu.gpu import Gpu


class Pool:
    """Buffers by name. The contents of a buffer are undefined when it is taken, except with `cleared`."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._buffers: dict[str, Any] = {}

    def take(self, name: str, words: int) -> Any:
        """Return the buffer `name` with at least `words` words."""
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < 4 * words:
            room = words if buffer is None else max(words, min(buffer.size // 4 * 3 // 2, self._gpu.most_words))
            self._buffers[name] = self._gpu.empty(room)
        return self._buffers[name]

    def cleared(self, name: str, words: int) -> Any:
        """Return the buffer `name`, whose first `words` words are 0."""
        buffer = self.take(name, words)
        self._gpu.clear(buffer, words)
        return buffer

    def filled(self, name: str, values: NDArray[Any]) -> Any:
        """Return the buffer `name`, which begins with `values`."""
        buffer = self.take(name, values.size)
        self._gpu.write(buffer, values)
        return buffer

    def numbers(self, name: str, *values: int) -> Any:
        """Return the buffer `name`, which begins with these numbers."""
        return self.filled(name, np.array(values, dtype=np.uint32))
