"""Tables that the kernels only read, filled on the host: character classes, names, tokens and merges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.tokenizer.whitespace import COMMANDS, DIRECTIVES, char_classes

Words = NDArray[np.uint32]
_CODE_POINTS = 0x110000
_START, _CONTINUE = 1, 2


def class_table() -> Words:
    """Return four bits for each code point: 1 may begin an identifier, 2 may continue one, 4 may begin a number."""
    classes = np.zeros(_CODE_POINTS, dtype=np.uint8)
    classes[ord("_")] = _START | _CONTINUE
    for first, last, bits in char_classes():
        classes[first : last + 1] |= bits
    return (classes[::2] | classes[1::2] << 4).view(np.uint32)


def name_table() -> Words:
    """Return the numbers of directives and commands, (place, length) of all and of `template`, then the bytes."""
    names = [name.encode() for name in (*DIRECTIVES, *COMMANDS, "template")]
    head = 2 + 2 * len(names)
    lengths = np.array([len(name) for name in names])
    places = head + np.cumsum(lengths) - lengths
    entries = np.stack([places, lengths], axis=1).ravel()
    data = np.frombuffer(b"".join(names), dtype=np.uint8)
    return np.concatenate([[len(DIRECTIVES), len(COMMANDS)], entries, data]).astype(np.uint32)


def packed(data: NDArray[np.uint8]) -> Words:
    """Return bytes packed into words, four per word."""
    return np.concatenate([data, np.zeros(-len(data) % 4, dtype=np.uint8)]).view(np.uint32)


def token_table(tokens: Sequence[bytes], ids: Sequence[int]) -> tuple[Words, Words]:
    """Return (slots, pool).

    A slot has place + 1, length, id and 0 of a token, at the hash of its bytes; `pool` all bytes.
    """
    lengths = np.array([len(token) for token in tokens])
    data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    places = np.cumsum(lengths) - lengths
    rows = np.stack([places + 1, lengths, ids, np.zeros_like(lengths)], axis=1).astype(np.uint32)
    return _hashed(rows, _string_hashes(data, places, lengths)), packed(data)


def merge_table(merges: Words) -> Words:
    """Return slots of left + 1, right, rank and product, at the hash of the pair. `merges` has rows in rank order."""
    left, right, product = merges.T.astype(np.uint32)
    rows = np.stack([left + 1, right, np.arange(len(merges), dtype=np.uint32), product], axis=1)
    return _hashed(rows, _mix(left * np.uint32(0x9E3779B1) + _mix(right + np.uint32(0x7F4A7C15))))


def _hashed(rows: Words, hashes: Words) -> Words:
    """Return `rows` in a table with linear probing, at most half full. All rows are inserted together, step by step."""
    slots = 1 << (2 * len(rows) + 2).bit_length()
    table = np.zeros((slots, 4), dtype=np.uint32)
    waiting = np.arange(len(rows))
    at = hashes.astype(np.int64) & (slots - 1)
    while len(waiting):
        free = np.flatnonzero(table[at, 0] == 0)
        _, first = np.unique(at[free], return_index=True)
        placed = free[first]
        table[at[placed]] = rows[waiting[placed]]
        rest = np.ones(len(waiting), dtype=bool)
        rest[placed] = False
        waiting, at = waiting[rest], (at[rest] + 1) & (slots - 1)
    return table


def _string_hashes(data: NDArray[np.uint8], places: NDArray[np.int64], lengths: NDArray[np.int64]) -> Words:
    """Return the `string_hash` of each string, computed for all strings together, byte by byte."""
    hashes = lengths.astype(np.uint32)
    for offset in range(int(lengths.max(initial=0))):
        more = np.flatnonzero(lengths > offset)
        hashes[more] = _mix(hashes[more] * np.uint32(31) + data[places[more] + offset])
    return hashes


def _mix(value: Words) -> Words:
    value = (value ^ (value >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    value = (value ^ (value >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return value ^ (value >> np.uint32(16))
