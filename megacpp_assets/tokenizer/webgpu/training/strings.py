"""The strings of all symbols on the device, and the table of strings that a product may equal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from megacpp_assets.tokenizer._bpe import alphabet_id
from megacpp_assets.tokenizer.webgpu.gpu import Gpu
from megacpp_assets.tokenizer.webgpu.hashing import string_hash
from megacpp_assets.tokenizer.webgpu.training.state import IDS, POOL_CAPACITY, POOL_USED, STRING_SLOTS, StateBuffer

FORBIDDEN, KNOWN = 1, 2
"""The flags of a string, as in setup_merge.wgsl.

FORBIDDEN: its pair is dropped. KNOWN: it is merged, but is not new.
"""
_ALPHABET = 256
_BYTES_PER_TOKEN = 16
"""The initial size of the pool. It grows if tokens are longer."""


class Strings:
    """`pool` has one byte per word: the alphabet, the flagged strings, then products in the order of their ids.

    `spelled` has the place and the length of each id. `table` has place + 1, length, id + 1 and flags of each string.
    """

    def __init__(self, gpu: Gpu, state: StateBuffer, flags: Mapping[bytes, int], new_ids: int) -> None:
        self._gpu = gpu
        self._state = state
        alphabet = np.zeros(_ALPHABET, dtype=np.uint32)
        for byte in range(_ALPHABET):
            alphabet[alphabet_id(byte)] = byte
        flagged = np.frombuffer(b"".join(flags), dtype=np.uint8).astype(np.uint32)
        used = _ALPHABET + len(flagged)
        self._room = used + _BYTES_PER_TOKEN * (new_ids + 1)
        self.pool = gpu.empty(self._room)
        gpu.write(self.pool, np.concatenate([alphabet, flagged]))
        self.spelled = gpu.empty(2 * (_ALPHABET + new_ids + 1))
        gpu.write(self.spelled, np.stack([np.arange(_ALPHABET), np.ones(_ALPHABET)], axis=1).astype(np.uint32))
        slots = 1 << (2 * (new_ids + len(flags) + 1)).bit_length()
        self.table = gpu.upload(_table(flags, slots))
        for word, value in ((IDS, _ALPHABET), (POOL_USED, used), (POOL_CAPACITY, self._room), (STRING_SLOTS, slots)):
            state.write(word, value)

    def grow(self) -> None:
        """Enlarge the pool for longer products."""
        larger = self._room + self._room // 2
        self.pool = self._gpu.enlarged(self.pool, self._room, larger)
        self._room = larger
        self._state.write(POOL_CAPACITY, larger)


def _table(flags: Mapping[bytes, int], slots: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
    table = np.zeros((slots, 4), dtype=np.uint32)
    at = _ALPHABET
    for text, flag in flags.items():
        slot = string_hash(text, len(text)) & (slots - 1)
        while table[slot, 0]:
            slot = (slot + 1) & (slots - 1)
        table[slot] = at + 1, len(text), 0, flag
        at += len(text)
    return table
