"""Merging words by rank, one program a word: the lowest rank first, of equal ranks the leftmost."""

from __future__ import annotations

import triton
import triton.language as tl

from megacpp_assets.tokenizer.gpu.kernels.hashing import find

_NO_RANK = tl.constexpr((1 << 31) - 1)
_NOTHING = tl.constexpr((1 << 63) - 1)


@triton.jit
def _ranks(keys, ranks, left, right, active, capacity):
    """Rank of the merge of each active lane's pair, _NO_RANK where there is none."""
    slot = find(keys, (left.to(tl.int64) << 32) | right.to(tl.int64), active, capacity)
    return tl.load(ranks + slot, mask=slot >= 0, other=_NO_RANK)


@triton.jit
def merge_words(
    cells, byte_ids, starts, lengths, symbols, rank_at, following, preceding, keys, ranks, products, capacity,
    LANES: tl.constexpr,
):  # fmt: skip
    """`symbols` at the word's cells become its tokens; cells that a token leaves free hold -1."""
    start = tl.load(starts + tl.program_id(0))
    size = tl.load(lengths + tl.program_id(0)).to(tl.int32)
    for first in range(0, size, LANES):
        i = first + tl.arange(0, LANES)
        inside = i < size
        mine = tl.load(byte_ids + tl.load(cells + start + i, mask=inside, other=0), mask=inside, other=0)
        paired = i + 1 < size
        beside = tl.load(byte_ids + tl.load(cells + start + i + 1, mask=paired, other=0), mask=paired, other=0)
        tl.store(symbols + start + i, mine, mask=inside)
        tl.store(following + start + i, i + 1, mask=inside)
        tl.store(preceding + start + i, i - 1, mask=inside)
        tl.store(rank_at + start + i, _ranks(keys, ranks, mine, beside, paired, capacity), mask=inside)
    tl.debug_barrier()
    best = _lowest(rank_at + start, size, LANES)
    while (best >> 32) != _NO_RANK:
        at = (best & 0xFFFFFFFF).to(tl.int32)
        middle = tl.load(following + start + at)
        after = tl.load(following + start + middle)
        before = tl.load(preceding + start + at)
        product = tl.load(products + (best >> 32))
        # The pairs beside the product, (before, product) and (product, after), are looked up by two lanes at once.
        lane = tl.arange(0, 2)
        place = tl.where(lane == 0, before, at)
        neighbour = tl.where(lane == 0, before, after)
        exists = (neighbour >= 0) & (neighbour < size)
        other = tl.load(symbols + start + neighbour, mask=exists, other=-1)
        left = tl.where(lane == 0, other, product)
        right = tl.where(lane == 0, product, other)
        beside = _ranks(keys, ranks, left, right, other >= 0, capacity)
        tl.debug_barrier()
        tl.store(symbols + start + at, product)
        tl.store(symbols + start + middle, -1)
        tl.store(rank_at + start + middle, _NO_RANK)
        tl.store(following + start + at, after)
        tl.store(preceding + start + after, at, mask=after < size)
        tl.store(rank_at + start + place, beside, mask=place >= 0)
        tl.debug_barrier()
        best = _lowest(rank_at + start, size, LANES)


@triton.jit
def _lowest(rank_at, size, LANES: tl.constexpr):
    """The lowest rank of a word, and in the low half the first place that has it."""
    best = tl.full((LANES,), _NOTHING, tl.int64)
    for first in range(0, size, LANES):
        i = first + tl.arange(0, LANES)
        rank = tl.load(rank_at + i, mask=i < size, other=_NO_RANK)
        best = tl.minimum(best, (rank.to(tl.int64) << 32) | i.to(tl.int64))
    return tl.min(best, axis=0)
