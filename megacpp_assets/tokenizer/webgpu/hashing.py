"""The hashes of `shaders/common/murmur.wgsl` on the host, which fills tables that the kernels read."""

from __future__ import annotations

from collections.abc import Iterable

_MASK = 0xFFFFFFFF


def murmur_mix(value: int) -> int:
    """Return the 32-bit finalizer of Murmur3 of `value`."""
    value = (value ^ (value >> 16)) * 0x85EBCA6B & _MASK
    value = (value ^ (value >> 13)) * 0xC2B2AE35 & _MASK
    return value ^ (value >> 16)


def pair_hash(left: int, right: int) -> int:
    """Return the hash of a pair of symbols."""
    return murmur_mix((left * 0x9E3779B1 + murmur_mix((right + 0x7F4A7C15) & _MASK)) & _MASK)


def string_hash(text: Iterable[int], length: int) -> int:
    """Return the hash of the bytes of a string."""
    value = length
    for byte in text:
        value = murmur_mix((value * 31 + byte) & _MASK)
    return value
