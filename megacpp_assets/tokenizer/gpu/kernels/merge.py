"""One merge as five kernels whose state stays on the device: best of each block, choice, places, counts, symbols.

No kernel's outcome depends on the order of its lanes: counts are sums, the choice is a maximum with a total order.
"""

from __future__ import annotations

import triton
import triton.language as tl

from megacpp_assets.tokenizer.gpu.kernels.hashing import PLACE_STRIDE, find_or_add, mixed

DONE, LEFT, RIGHT, PRODUCT, COUNT, SLOT, SYMBOLS, MADE, MERGES, PLACES, DROPPED, ACTIVE, STATE_SIZE = range(13)
"""Places of the state vector (int64)."""
FORBIDDEN, KNOWN = 1, 2
"""Flags of a string: its pair is dropped; it is merged but not counted as new."""
BLOCK = 1024
_DONE, _LEFT, _RIGHT, _PRODUCT = (tl.constexpr(value) for value in (DONE, LEFT, RIGHT, PRODUCT))
_COUNT, _SLOT, _SYMBOLS, _MADE = (tl.constexpr(value) for value in (COUNT, SLOT, SYMBOLS, MADE))
_MERGES, _PLACES, _DROPPED, _ACTIVE = (tl.constexpr(value) for value in (MERGES, PLACES, DROPPED, ACTIVE))
_FORBIDDEN, _KNOWN = tl.constexpr(FORBIDDEN), tl.constexpr(KNOWN)
_NO_KEY = tl.constexpr((1 << 63) - 1)
_DROPPED_COUNT = tl.constexpr(-(1 << 62))
"""Count of a pair that is never merged; no sum of word counts brings it back above zero."""
_STRING_LANES = tl.constexpr(128)


@triton.jit
def best_of_blocks(keys, counts, dirty, best_counts, best_keys, best_slots, BLOCK: tl.constexpr):
    """Of each block of slots that changed: the highest count, of equal counts the smallest pair."""
    block = tl.program_id(0)
    if tl.load(dirty + block) != 0:
        slots = block * BLOCK + tl.arange(0, BLOCK)
        count = tl.load(counts + slots)
        key = tl.load(keys + slots)
        highest = tl.max(count, axis=0)
        smallest = tl.min(tl.where(count == highest, key, _NO_KEY), axis=0)
        slot = tl.max(tl.where((count == highest) & (key == smallest), slots, -1), axis=0)
        tl.store(best_counts + block, highest)
        tl.store(best_keys + block, smallest)
        tl.store(best_slots + block, slot)
        tl.store(dirty + block, 0)


@triton.jit
def _string_hash(cells, at, length, LANES: tl.constexpr):
    """A hash of `length` cells from `at` on: a sum over cells mixed with their place, so it needs no order."""
    total = tl.full((LANES,), 0, tl.int64)
    for first in range(0, length, LANES):
        i = first + tl.arange(0, LANES)
        cell = tl.load(cells + at + i, mask=i < length, other=0).to(tl.int64)
        total += tl.where(i < length, mixed(cell + 1 + i.to(tl.int64) * PLACE_STRIDE), 0)
    return mixed(tl.sum(total, axis=0) + length)


@triton.jit
def _differs(cells, one, other, length, LANES: tl.constexpr):
    """How many of `length` cells differ."""
    total = tl.full((LANES,), 0, tl.int32)
    for first in range(0, length, LANES):
        i = first + tl.arange(0, LANES)
        mine = tl.load(cells + one + i, mask=i < length, other=0)
        theirs = tl.load(cells + other + i, mask=i < length, other=0)
        total += (mine != theirs).to(tl.int32)
    return tl.sum(total, axis=0)


@triton.jit
def _string_slot(cells, string_at, string_length, at, length, capacity, LANES: tl.constexpr):
    """The slot of the string of `length` cells at `at`: its own, or the free one where it belongs."""
    slot = _string_hash(cells, at, length, LANES) & (capacity - 1)
    searching = 1
    while searching != 0:
        found = tl.load(string_at + slot)
        if found < 0:
            searching = 0
        elif tl.load(string_length + slot) == length:
            searching = (_differs(cells, found, at, length, LANES) != 0).to(tl.int32)
        if searching != 0:
            slot = (slot + 1) & (capacity - 1)
    return slot


@triton.jit
def choose(
    state, cells, strings, symbol_lengths, counts, dirty, places, best_counts, best_keys, best_slots, merges,
    blocks, target, string_capacity, merge_capacity, BLOCK: tl.constexpr,
):  # fmt: skip
    """Pick the pair of the step and give its product an id; or drop it, or end. One program."""
    best_count = tl.full((), 0, tl.int64)
    best_key = tl.full((), _NO_KEY, tl.int64)
    best_slot = tl.full((), 0, tl.int64)
    for first in range(0, blocks, BLOCK):
        i = first + tl.arange(0, BLOCK)
        count = tl.load(best_counts + i, mask=i < blocks, other=0)
        key = tl.load(best_keys + i, mask=i < blocks, other=_NO_KEY)
        highest = tl.max(count, axis=0)
        smallest = tl.min(tl.where(count == highest, key, _NO_KEY), axis=0)
        slot = tl.max(
            tl.where((count == highest) & (key == smallest), tl.load(best_slots + i, mask=i < blocks, other=-1), -1),
            axis=0,
        )
        better = (highest > best_count) | ((highest == best_count) & (smallest < best_key))
        best_count = tl.where(better, highest, best_count)
        best_key = tl.where(better, smallest, best_key)
        best_slot = tl.where(better, slot, best_slot)
    made = tl.load(state + _MADE)
    done = tl.load(state + _DONE) | (best_count < 1).to(tl.int64) | (made >= target).to(tl.int64)
    tl.store(state + _DONE, done)
    tl.store(state + _ACTIVE, 0)
    tl.store(state + _PLACES, 0)
    if done == 0:
        left = best_key >> 32
        right = best_key & 0xFFFFFFFF
        at = tl.load(places + best_slot)
        length = tl.load(symbol_lengths + left) + tl.load(symbol_lengths + right)
        string_at, string_length = strings, strings + string_capacity
        string_id, string_flags = strings + 2 * string_capacity, strings + 3 * string_capacity
        slot = _string_slot(cells, string_at, string_length, at, length, string_capacity, _STRING_LANES)
        flags = tl.load(string_flags + slot)
        if (flags & _FORBIDDEN) != 0:
            tl.store(counts + best_slot, _DROPPED_COUNT)
            tl.store(dirty + best_slot // BLOCK, 1)
            tl.store(state + _DROPPED, tl.load(state + _DROPPED) + 1)
        else:
            free = tl.load(string_at + slot) < 0
            known_id = tl.load(string_id + slot)
            product = known_id
            if free | (known_id < 0):
                product = tl.load(state + _SYMBOLS)
                tl.store(state + _SYMBOLS, product + 1)
                tl.store(symbol_lengths + product, length)
                tl.store(string_at + slot, at)
                tl.store(string_length + slot, length)
                tl.store(string_id + slot, product)
                tl.store(state + _MADE, made + ((flags & _KNOWN) == 0).to(tl.int64))
            number = tl.load(state + _MERGES)
            tl.store(merges + number, left)
            tl.store(merges + merge_capacity + number, right)
            tl.store(merges + 2 * merge_capacity + number, product)
            tl.store(merges + 3 * merge_capacity + number, best_count)
            tl.store(state + _MERGES, number + 1)
            tl.store(state + _LEFT, left)
            tl.store(state + _RIGHT, right)
            tl.store(state + _PRODUCT, product)
            tl.store(state + _COUNT, best_count)
            tl.store(state + _SLOT, best_slot)
            tl.store(state + _ACTIVE, 1)


@triton.jit
def mark_places(state, head, tail, symbol_lengths, marks, found, size, BLOCK: tl.constexpr):
    """Find every place of the pair. A run of one symbol is walked by the lane at its begin, from the left, by twos."""
    if tl.load(state + _ACTIVE) != 0:
        left = tl.load(state + _LEFT)
        right = tl.load(state + _RIGHT)
        width = tl.load(symbol_lengths + left)
        for first in range(tl.program_id(0) * BLOCK, size, tl.num_programs(0) * BLOCK):
            at = (first + tl.arange(0, BLOCK)).to(tl.int64)
            here = tl.load(head + at, mask=at < size, other=-1) == left
            here &= tl.load(head + at + width, mask=here, other=-1) == right
            here &= (left != right) | (tl.load(tail + at - 1, mask=here, other=-1) != left)
            while tl.max(here.to(tl.int32), axis=0) > 0:
                ones = here.to(tl.int64)
                base = tl.atomic_add(state + _PLACES, tl.sum(ones, axis=0))
                tl.store(found + base + tl.cumsum(ones, axis=0) - 1, at, mask=here)
                tl.store(marks + at, tl.full((BLOCK,), 1, tl.int8), mask=here)
                at = tl.where(here, at + 2 * width, at)
                here &= left == right
                here &= tl.load(head + at, mask=here, other=-1) == left
                here &= tl.load(head + at + width, mask=here, other=-1) == right


@triton.jit
def _add(keys, counts, dirty, left, right, weight, active, capacity, BLOCK: tl.constexpr):
    """Add `weight` to the count of each active lane's pair; its slot."""
    slot = find_or_add(keys, (left.to(tl.int64) << 32) | right.to(tl.int64), active, capacity)
    tl.atomic_add(counts + slot, weight, mask=active)
    tl.store(dirty + slot // BLOCK, tl.full(slot.shape, 1, tl.int32), mask=active)
    return slot


@triton.jit
def move_counts(
    state, head, tail, symbol_lengths, word_of, weights, marks, found, keys, counts, dirty, places, capacity,
    LANES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Beside every place the old pairs lose the word's count and the new ones gain it.

    A place answers for the pair on its left, and for that on its right unless another place begins there.
    """
    if tl.load(state + _ACTIVE) != 0:
        left = tl.load(state + _LEFT)
        right = tl.load(state + _RIGHT)
        product = tl.load(state + _PRODUCT)
        left_width = tl.load(symbol_lengths + left)
        right_width = tl.load(symbol_lengths + right)
        number = tl.load(state + _PLACES)
        zero = tl.full((LANES,), 0, tl.int64)
        for first in range(tl.program_id(0) * LANES, number, tl.num_programs(0) * LANES):
            i = first + tl.arange(0, LANES)
            inside = i < number
            at = tl.load(found + i, mask=inside, other=1)
            weight = tl.load(weights + tl.load(word_of + at, mask=inside, other=0), mask=inside, other=0)
            before = tl.load(tail + at - 1, mask=inside, other=-1)
            meets = inside & (before >= 0)
            twin = at - left_width - right_width
            merged = meets & (before == right) & (tl.load(marks + twin, mask=meets & (twin >= 0), other=0) != 0)
            begin = at - tl.load(symbol_lengths + before, mask=meets, other=0)
            _add(keys, counts, dirty, before, zero + left, -weight, meets, capacity, BLOCK)
            beside = tl.where(merged, product, before)
            slot = _add(keys, counts, dirty, beside, zero + product, weight, meets, capacity, BLOCK)
            tl.store(places + slot, tl.where(merged, twin, begin), mask=meets)
            end = at + left_width + right_width
            after = tl.load(head + end, mask=inside, other=-1)
            follows = inside & (after >= 0) & (tl.load(marks + end, mask=inside, other=0) == 0)
            _add(keys, counts, dirty, zero + right, after, -weight, follows, capacity, BLOCK)
            slot = _add(keys, counts, dirty, zero + product, after, weight, follows, capacity, BLOCK)
            tl.store(places + slot, at, mask=follows)


@triton.jit
def write_symbols(
    state, head, tail, symbol_lengths, marks, found, counts, dirty, LANES: tl.constexpr, BLOCK: tl.constexpr
):
    """Put the product where the pair was; no pair of it is left."""
    if tl.load(state + _ACTIVE) != 0:
        product = tl.load(state + _PRODUCT).to(tl.int32)
        left_width = tl.load(symbol_lengths + tl.load(state + _LEFT))
        width = left_width + tl.load(symbol_lengths + tl.load(state + _RIGHT))
        number = tl.load(state + _PLACES)
        for first in range(tl.program_id(0) * LANES, number, tl.num_programs(0) * LANES):
            i = first + tl.arange(0, LANES)
            inside = i < number
            at = tl.load(found + i, mask=inside, other=0)
            nothing = tl.full((LANES,), -1, tl.int32)
            tl.store(head + at + left_width, nothing, mask=inside)
            tl.store(tail + at + left_width - 1, nothing, mask=inside)
            tl.store(head + at, nothing + 1 + product, mask=inside)
            tl.store(tail + at + width - 1, nothing + 1 + product, mask=inside)
            tl.store(marks + at, tl.full((LANES,), 0, tl.int8), mask=inside)
        if tl.program_id(0) == 0:
            slot = tl.load(state + _SLOT)
            tl.store(counts + slot, tl.full((), 0, tl.int64))
            tl.store(dirty + slot // BLOCK, 1)
