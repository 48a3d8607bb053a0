"""The merge loop: counted words in, the merges of the native trainer out. The device keeps all state; the host looks in
between launches of many merges, to see whether they are done and whether the table of pairs still has room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import triton
from torch import Tensor

from megacpp_assets.tokenizer._bpe import alphabet_id
from megacpp_assets.tokenizer.gpu.kernels import merge as k
from megacpp_assets.tokenizer.gpu.layout import END
from megacpp_assets.tokenizer.gpu.strings import string_table
from megacpp_assets.tokenizer.gpu.table import Table
from megacpp_assets.tokenizer.gpu.words import Words, compacted
from megacpp_assets.tokenizer.model import Merges

LANES = 256
PROGRAMS = 1024


@dataclass(frozen=True, slots=True)
class Found:
    """Merges in order, the highest count of any pair, and how many pairs were dropped for a forbidden product."""

    merges: Merges
    largest_count: int
    dropped: int


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """As the native trainer's: how many new products, which products have an id already, which must not exist.

    `steps` merges make a launch, on CUDA one graph; the outcome does not depend on it.
    """

    new_tokens: int
    known: Sequence[bytes] = ()
    forbidden: Sequence[bytes] = ()
    steps: int = 128

    @property
    def flags(self) -> dict[bytes, int]:
        """Known and forbidden strings with their flags."""
        flags = dict.fromkeys(self.known, k.KNOWN)
        return flags | {text: flags.get(text, 0) | k.FORBIDDEN for text in self.forbidden}


def train_merges(words: Words, options: MergeOptions, progress: Callable[[int, int], None] | None = None) -> Found:
    """The merges of `words`: highest count first, of equal counts the smallest pair of ids."""
    loop = _Loop(words, options)
    while not loop.done:
        loop.launch()
        if progress is not None:
            progress(int(loop.state[k.MADE]), options.new_tokens)
    return loop.found()


class _Loop:
    """All tensors of a training.

    `head[i]` and `tail[i]` (int32) are the symbol that begins or ends at cell i, -1 if none does; between words, and
    before the first, is a cell of neither. `cells` holds the bytes of the words and then of the flagged strings.
    """

    def __init__(self, words: Words, options: MergeOptions) -> None:
        self._options = options
        device = words.starts.device
        long = words.lengths >= 2
        self._lay_out(Words(words.cells, words.starts[long], words.lengths[long], words.counts[long]))
        symbols = 256 + options.new_tokens + len(options.known) + 1
        self._widths = torch.ones(symbols, dtype=torch.int64, device=device)
        self._string_capacity = 1 << (2 * (symbols + len(options.forbidden))).bit_length()
        strings = string_table(options.flags, len(self._head), self._string_capacity)
        self._strings = torch.from_numpy(strings).to(device)
        self.state = torch.zeros(k.STATE_SIZE, dtype=torch.int64, device=device)
        self.state[k.SYMBOLS] = 256
        self._merges = torch.zeros((4, options.new_tokens + options.steps + 1), dtype=torch.int64, device=device)
        self._first_pairs()
        self._graph: torch.cuda.CUDAGraph | None = None

    def _lay_out(self, words: Words) -> None:
        """Words one after the other, with a cell of END before each and behind the last."""
        device = words.starts.device
        words = compacted(words)
        numbers = torch.arange(len(words), device=device)
        word = torch.repeat_interleave(numbers, words.lengths)
        places = torch.arange(len(word), device=device) + word + 1
        size = len(word) + len(words) + 1
        flagged = np.frombuffer(b"".join(self._options.flags), dtype=np.uint8).astype(np.int16)
        self._cells = torch.full((size,), END, dtype=torch.int16, device=device)
        self._cells[places] = words.cells
        self._cells = torch.cat([self._cells, torch.from_numpy(flagged).to(device)])
        alphabet = torch.tensor([alphabet_id(byte) for byte in range(256)], dtype=torch.int32, device=device)
        self._head = torch.full((size,), -1, dtype=torch.int32, device=device)
        self._head[places] = alphabet[words.cells.long()]
        self._tail = self._head.clone()
        self._word_of = torch.zeros(size, dtype=torch.int32, device=device)
        self._word_of[places] = word.to(torch.int32)
        self._weights = words.counts if len(words) else words.counts.new_zeros(1)
        self._marks = torch.zeros(size, dtype=torch.int8, device=device)
        self._places = torch.zeros(size // 2 + 1, dtype=torch.int64, device=device)

    def _first_pairs(self) -> None:
        """Count all pairs of bytes: summed up by pair first, so that each pair is put into the table once."""
        left, right = self._head[:-1], self._head[1:]
        at = torch.nonzero((left >= 0) & (right >= 0)).flatten()
        keys, group = torch.unique(left[at].long() << 32 | right[at].long(), return_inverse=True)
        counts = keys.new_zeros(len(keys)).index_add(0, group, self._weights[self._word_of[at].long()])
        places = keys.new_full((len(keys),), len(self._head)).scatter_reduce(0, group, at, "amin")
        self.largest_count = int(counts.max()) if len(counts) else 0
        self._fill(keys, counts, places, least=len(keys))

    def _fill(self, keys: Tensor, counts: Tensor, places: Tensor, least: int) -> None:
        """A new table of pairs with room for `least`; every block must be looked at."""
        self._table = Table.empty(least, keys.device)
        slots = self._table.insert(keys)
        capacity = self._table.capacity
        self._counts = keys.new_zeros(capacity + 1)
        self._counts[slots] = counts
        self._pair_places = keys.new_zeros(capacity + 1)
        self._pair_places[slots] = places
        self._blocks = capacity // k.BLOCK
        self._dirty = torch.ones(self._blocks + 1, dtype=torch.int32, device=keys.device)
        self._best = keys.new_zeros((3, self._blocks))
        self._graph = None

    @property
    def done(self) -> bool:
        """Whether no merge is left to make."""
        return bool(self.state[k.DONE])

    def launch(self) -> None:
        """As many merges as a launch has, without a look in between."""
        self._make_room()
        if not self._head.is_cuda:
            for _ in range(self._options.steps):
                self._step()
                if self.done:
                    return
            return
        if self._graph is None:
            self._step()  # compiles the kernels, which must not happen while a graph is captured
            torch.cuda.synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                for _ in range(self._options.steps):
                    self._step()
        self._graph.replay()

    def _make_room(self) -> None:
        """Grow the tables for the next launch's merges, and for the one that compiles.

        A merge makes at most two pairs a place, and has no more places than its count; and no more than two pairs a
        symbol. Counts never rise, so the last one bounds all that follow.
        """
        steps = self._options.steps + 1
        number = int(self.state[k.MERGES])
        if number + steps > self._merges.shape[1]:
            self._merges = torch.cat([self._merges, torch.zeros_like(self._merges)], dim=1).contiguous()
            self._graph = None
        count = int(self.state[k.COUNT]) if number else self.largest_count
        fresh = steps * 2 * min(count, int(self.state[k.SYMBOLS]) + steps)
        keys = self._table.keys[:-1]
        used = keys >= 0
        if 2 * (int(used.sum()) + fresh) > self._table.capacity:
            kept = torch.nonzero(used & (self._counts[:-1] != 0)).flatten()
            self._fill(keys[kept], self._counts[kept], self._pair_places[kept], least=len(kept) + fresh)

    def _step(self) -> None:
        state, head, tail, widths = self.state, self._head, self._tail, self._widths
        keys, counts, dirty = self._table.keys, self._counts, self._dirty
        best = (self._best[0], self._best[1], self._best[2])
        k.best_of_blocks[(self._blocks,)](keys, counts, dirty, *best, BLOCK=k.BLOCK)
        k.choose[(1,)](
            state, self._cells, self._strings, widths, counts, dirty, self._pair_places, *best, self._merges,
            self._blocks, self._options.new_tokens, self._string_capacity, self._merges.shape[1], BLOCK=k.BLOCK,
        )  # fmt: skip
        size = len(head)
        grid = (min(PROGRAMS, triton.cdiv(size, k.BLOCK)),)
        k.mark_places[grid](state, head, tail, widths, self._marks, self._places, size, BLOCK=k.BLOCK)
        grid = (min(PROGRAMS, triton.cdiv(size, 2 * LANES)),)
        k.move_counts[grid](
            state, head, tail, widths, self._word_of, self._weights, self._marks, self._places,
            keys, counts, dirty, self._pair_places, self._table.capacity, LANES=LANES, BLOCK=k.BLOCK,
        )  # fmt: skip
        k.write_symbols[grid](
            state, head, tail, widths, self._marks, self._places, counts, dirty, LANES=LANES, BLOCK=k.BLOCK
        )

    def found(self) -> Found:
        """What the device has recorded."""
        rows = self._merges[:, : int(self.state[k.MERGES])].cpu().numpy()
        merges = Merges(rows[0].astype(np.uint32), rows[1].astype(np.uint32), rows[3].copy())
        return Found(merges, self.largest_count, int(self.state[k.DROPPED]))
