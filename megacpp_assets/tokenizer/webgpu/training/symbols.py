"""The symbols of all counted words on the device, word after word, and the kernels that compact them after a merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.tokenizer._bpe import alphabet_id
from megacpp_assets.tokenizer.webgpu.gpu import LANES, Dispatch, Gpu
from megacpp_assets.tokenizer.webgpu.scan import scan_calls
from megacpp_assets.tokenizer.webgpu.training.state import StateBuffer

WORD_START_BIT = 1 << 31


@dataclass(frozen=True, slots=True)
class CountedWords:
    """Distinct words, concatenated in `data` (uint8), with their `lengths` and how often each occurs (`counts`)."""

    data: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    counts: NDArray[np.int64]


class SymbolBuffers:
    """The symbols and the word of each, in two pairs of buffers that alternate: step `parity` reads `of(parity)`."""

    def __init__(self, gpu: Gpu, state: StateBuffer, words: CountedWords) -> None:
        self._gpu = gpu
        self._state = state
        size = len(words.data)
        if max(size, 2 * len(words.counts)) > gpu.most_words:
            raise EnvironmentLacks(
                "GPU adapter",
                expected=f"buffers of {4 * size:,} bytes for the words of this corpus",
                found=f"at most {4 * gpu.most_words:,}",
                do="set MEGACPP_TOKENIZER_DEVICE=cpu",
            )
        alphabet = np.array([alphabet_id(byte) for byte in range(256)], dtype=np.uint32)
        symbols = alphabet[words.data]
        symbols[np.cumsum(words.lengths) - words.lengths] |= np.uint32(WORD_START_BIT)
        owners = np.repeat(np.arange(len(words.lengths), dtype=np.uint32), words.lengths)
        self._symbols = (gpu.upload(symbols), gpu.empty(size))
        self._owners = (gpu.upload(owners), gpu.empty(size))
        self.weights = gpu.upload(np.ascontiguousarray(words.counts, dtype="<i8").view(np.uint32))
        self.lengths = gpu.upload(np.array([0, size], dtype=np.uint32))
        self.roles, self._valid = gpu.empty(size), gpu.empty(size)
        blocks = -(-size // LANES)
        self._block_sums, self._sums = gpu.empty(blocks), gpu.empty(-(-blocks // LANES))

    def size(self) -> int:
        """Return the current number of symbols."""
        return int(self._gpu.read(self.lengths, 1, at=1)[0])

    def of(self, parity: int) -> tuple[Any, Any]:
        """Return (symbols, word of each) that a step of `parity` reads."""
        return self._symbols[parity], self._owners[parity]

    def mark_call(self, parity: int, size: int) -> Dispatch:
        """Return the call that pairs the symbols in runs of one symbol."""
        return self._gpu.call("mark_runs", [self._symbols[parity], self.roles, self._state.buffer], size)

    def compact_calls(self, parity: int, size: int) -> list[Dispatch]:
        """Return calls that write the symbols after the merge to the buffers of the other parity."""
        state, symbols, owners = self._state.buffer, self._symbols, self._owners
        reduce = [symbols[parity], self.roles, self._valid, self._block_sums, state]
        compact = [self._valid, self._block_sums, symbols[parity], symbols[1 - parity], state]
        compact += [owners[parity], owners[1 - parity]]
        return [
            self._gpu.call("merge_reduce", reduce, size),
            *scan_calls(self._gpu, self._block_sums, self._sums, self.lengths, -(-size // LANES)),
            self._gpu.call("finalize_compact", compact, size),
        ]
