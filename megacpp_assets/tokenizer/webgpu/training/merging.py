"""The merge loop: counted words in, the merges of the native trainer out.

The device keeps all state. The host submits many merges at once, then checks whether they are done and enlarges
buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from megacpp_assets.tokenizer.model import Merges
from megacpp_assets.tokenizer.webgpu.gpu import Dispatch, Gpu
from megacpp_assets.tokenizer.webgpu.training.pair_table import PairTable
from megacpp_assets.tokenizer.webgpu.training.state import (
    DONE,
    DROPPED,
    MADE,
    MERGES,
    POOL_FULL,
    RUNNING,
    STEPS,
    STOP,
    TABLE_FULL,
    TARGET,
    StateBuffer,
)
from megacpp_assets.tokenizer.webgpu.training.strings import FORBIDDEN, KNOWN, Strings
from megacpp_assets.tokenizer.webgpu.training.symbols import CountedWords, SymbolBuffers

_MERGE_WORDS = 4


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """The options of the native trainer: the number of new products, products that have an id, and forbidden products.

    The other options change no result. With `recount` all pairs are counted again for each merge, as in seed 004; else
    a merge updates only the counts next to its places. A submit has `steps` merges. `slots` is the initial table size.
    """

    new_tokens: int
    known: Sequence[bytes] = ()
    forbidden: Sequence[bytes] = ()
    recount: bool = False
    steps: int = 64
    slots: int = 1 << 16

    @property
    def flags(self) -> dict[bytes, int]:
        """The known and forbidden strings with their flags."""
        flags = dict.fromkeys(self.known, KNOWN)
        return flags | {text: flags.get(text, 0) | FORBIDDEN for text in self.forbidden}


@dataclass(frozen=True, slots=True)
class FoundMerges:
    """Merges in order, the highest count of any pair, and how many pairs were dropped for a forbidden product."""

    merges: Merges
    largest_count: int
    dropped: int


def train_merges(
    gpu: Gpu, words: CountedWords, options: MergeOptions, progress: Callable[[int, int], None] | None = None
) -> FoundMerges:
    """Return the merges of `words`: the highest count first, and of equal counts the smallest pair of ids."""
    if len(words.data) == 0:
        none = np.zeros(0, dtype=np.uint32)
        return FoundMerges(Merges(none, none, none.astype(np.int64)), 0, 0)
    loop = _Loop(gpu, words, options)
    while not loop.submit():
        if progress is not None:
            progress(loop.made(), options.new_tokens)
    return loop.found()


class _Loop:
    """The buffers of a training, and the steps on them."""

    def __init__(self, gpu: Gpu, words: CountedWords, options: MergeOptions) -> None:
        self._gpu = gpu
        self._options = options
        self._state = StateBuffer.on(gpu)
        self._state.write(TARGET, options.new_tokens)
        self._symbols = SymbolBuffers(gpu, self._state, words)
        self._strings = Strings(gpu, self._state, options.flags, options.new_tokens + len(options.known))
        self._table = PairTable(gpu, self._state, options.slots)
        self._merge_room = options.steps
        self._merges = gpu.empty(_MERGE_WORDS * self._merge_room)
        self._count_all(parity=0)
        # A pair of later symbols occurs at most as often as the pair of bytes at its border, so counts never rise.
        self._largest_count = self._table.largest_count()

    def submit(self) -> bool:
        """Submit `steps` merges, and enlarge a buffer if they stopped for it. Return whether all merges are made."""
        state = self._state.read()
        self._reserve_merges(int(state[MERGES]) + self._options.steps)
        first, size = int(state[STEPS]), self._symbols.size()
        calls = [self._step(parity, size) for parity in (0, 1)]
        self._gpu.run([call for step in range(self._options.steps) for call in calls[(first + step) & 1]])
        state = self._state.read()
        if state[STOP] == TABLE_FULL:
            self._state.write(STOP, RUNNING)
            self._table.grow(self._symbols.size())
            self._count_all(parity=int(state[STEPS]) & 1)
        elif state[STOP] == POOL_FULL:
            self._state.write(STOP, RUNNING)
            self._strings.grow()
        return bool(state[STOP] == DONE)

    def made(self) -> int:
        """Return the number of new products so far."""
        return int(self._state.read()[MADE])

    def found(self) -> FoundMerges:
        """Return the merges that the device has recorded."""
        state = self._state.read()
        number = int(state[MERGES])
        rows = self._gpu.read(self._merges, _MERGE_WORDS * number).reshape(-1, _MERGE_WORDS)
        counts = rows[:, 2].astype(np.int64) | rows[:, 3].astype(np.int64) << 32
        return FoundMerges(
            Merges(rows[:, 0].copy(), rows[:, 1].copy(), counts), self._largest_count, int(state[DROPPED])
        )

    def _step(self, parity: int, size: int) -> list[Dispatch]:
        """Return the kernels of one merge."""
        count = self._count_calls(parity, size) if self._options.recount else []
        move = [] if self._options.recount else [self._move_call(parity, size)]
        return [
            *count,
            *self._table.find_calls(),
            self._setup_call(),
            self._symbols.mark_call(parity, size),
            *move,
            *self._symbols.compact_calls(parity, size),
        ]

    def _setup_call(self) -> Dispatch:
        table, strings = self._table, self._strings
        buffers = [self._state.buffer, self._symbols.lengths, table.chosen, table.counts, table.dirty]
        buffers += [strings.pool, strings.spelled, strings.table, self._merges, table.usage]
        return self._gpu.call("setup_merge", buffers, 1)

    def _count_calls(self, parity: int, size: int) -> list[Dispatch]:
        count = [*self._pair_buffers(parity), self._symbols.lengths]
        return [self._table.clear_call(), self._gpu.call("pair_count", count, size)]

    def _move_call(self, parity: int, size: int) -> Dispatch:
        return self._gpu.call("move_counts", [*self._pair_buffers(parity), self._symbols.roles], size)

    def _pair_buffers(self, parity: int) -> list[object]:
        table, (symbols, owners) = self._table, self._symbols.of(parity)
        buffers = [symbols, table.counts, table.ids, self._state.buffer, owners]
        return [*buffers, self._symbols.weights, table.usage, table.dirty]

    def _count_all(self, parity: int) -> None:
        """Count all pairs. Enlarge the table until they fill at most half of it."""
        size = self._symbols.size()
        self._gpu.run(self._count_calls(parity, size))
        while self._table.is_full():
            self._table.grow(size)
            self._gpu.run(self._count_calls(parity, size))

    def _reserve_merges(self, number: int) -> None:
        if number > self._merge_room:
            room = number + number // 2
            self._merges = self._gpu.enlarged(self._merges, _MERGE_WORDS * self._merge_room, _MERGE_WORDS * room)
            self._merge_room = room
