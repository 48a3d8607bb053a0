"""Triton kernels shared by training and encoding: hashes of words, and an open-addressing table of 64-bit keys.

The table has a power of two of slots and one more, which lanes that have nothing to do look at.
"""

from __future__ import annotations

import triton
import triton.language as tl

EMPTY = tl.constexpr(-1)
UNUSED = tl.constexpr(-2)
"""What the last slot holds: no key is negative, and no lane ever compares with it."""
LANES = 256
MIX_FIRST = tl.constexpr(-49064778989728563)
MIX_SECOND = tl.constexpr(-4265267296055464877)
PLACE_STRIDE = tl.constexpr(512)
"""How far apart the places of a string are in its hash: more than there are cells."""


@triton.jit
def mixed(value):
    """A 64-bit value whose low bits depend on all bits of `value`."""
    value = (value ^ (value >> 33)) * MIX_FIRST
    value = (value ^ (value >> 29)) * MIX_SECOND
    return value ^ (value >> 32)


@triton.jit
def hash_words(cells, starts, lengths, hashes, count, seed, LANES: tl.constexpr):
    """One lane a word: `hashes[i]` of the cells from `starts[i]` on. int64."""
    i = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = i < count
    start = tl.load(starts + i, mask=inside, other=0)
    length = tl.load(lengths + i, mask=inside, other=0)
    value = length ^ seed
    for offset in range(0, tl.max(length, axis=0)):
        more = offset < length
        cell = tl.load(cells + start + offset, mask=more, other=0).to(tl.int64)
        value = tl.where(more, mixed(value * 31 + cell + 1), value)
    tl.store(hashes + i, value, mask=inside)


@triton.jit
def find_or_add(keys, key, active, capacity):
    """The slot of each active lane's `key`, which is put there if it is new. Terminates while a slot is free."""
    slot = mixed(key) & (capacity - 1)
    while tl.max(active.to(tl.int32), axis=0) > 0:
        at = tl.where(active, slot, capacity)
        expected = tl.where(active, EMPTY, 0).to(tl.int64)
        found = tl.atomic_cas(keys + at, expected, key)
        ended = (found == EMPTY) | (found == key)
        slot = tl.where(active & (ended == 0), (slot + 1) & (capacity - 1), slot)
        active = active & (ended == 0)
    return slot


@triton.jit
def find(keys, key, active, capacity):
    """The slot of each active lane's `key`, -1 where it has none."""
    slot = mixed(key) & (capacity - 1)
    result = tl.full(key.shape, -1, tl.int64)
    while tl.max(active.to(tl.int32), axis=0) > 0:
        found = tl.load(keys + slot, mask=active, other=EMPTY)
        result = tl.where(active & (found == key), slot, result)
        active = active & (found != key) & (found != EMPTY)
        slot = (slot + 1) & (capacity - 1)
    return result


@triton.jit
def insert_keys(keys, new, slots, count, capacity, LANES: tl.constexpr):
    """Put `new` keys into the table; `slots[i]` is where key i is."""
    i = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = i < count
    key = tl.load(new + i, mask=inside, other=0)
    slot = find_or_add(keys, key, inside, capacity)
    tl.store(slots + i, slot, mask=inside)
