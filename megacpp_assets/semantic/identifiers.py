"""Identifier tokens of a file and 64-bit hashes of their spellings, vectorised, so that names compare as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

_WORD = np.zeros(256, dtype=bool)
_WORD[[*range(48, 58), *range(65, 91), 95, *range(97, 123), *range(128, 256), 36]] = True
_DIGIT = np.zeros(256, dtype=bool)
_DIGIT[48:58] = True
_BASE = np.uint64(0x9E3779B97F4A7C15)
_LONGEST = 1 << 12


@cache
def _powers() -> NDArray[np.uint64]:
    return np.cumprod(np.full(_LONGEST, _BASE, dtype=np.uint64), dtype=np.uint64)


def identifiers(code: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and ends, in bytes, of the maximal runs of word characters that begin with no digit."""
    data = np.frombuffer(code, dtype=np.uint8)
    word = np.concatenate(([False], _WORD[data], [False]))
    edges = np.flatnonzero(word[1:] != word[:-1])
    starts, ends = edges[::2], edges[1::2]
    named = ~_DIGIT[data[starts]] if len(starts) else np.zeros(0, dtype=bool)
    return starts[named], ends[named]


def span_hashes(data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hash of each byte range of `data`; equal bytes give equal hashes. An empty range gives 0."""
    lengths = ends - starts
    hashes = np.zeros(len(starts), dtype=np.uint64)
    filled = np.flatnonzero(lengths > 0)
    if not len(filled):
        return hashes
    before = np.concatenate(([0], np.cumsum(lengths[filled])))
    within = np.arange(before[-1]) - np.repeat(before[:-1], lengths[filled])
    values = data[np.repeat(starts[filled], lengths[filled]) + within].astype(np.uint64) + np.uint64(1)
    weighted = values * _powers()[np.minimum(within, _LONGEST - 1)]
    hashes[filled] = np.add.reduceat(weighted, before[:-1])
    return hashes


def name_hashes(spellings: Sequence[str]) -> NDArray[np.uint64]:
    """Hashes of `spellings` that match the identifier token of the entity: no template arguments, no tilde."""
    plain = [_plain(name) if "<" in name or "~" in name else name for name in spellings]
    joined = "".join(plain)
    sizes = map(len, plain) if joined.isascii() else (len(name.encode()) for name in plain)
    ends = np.cumsum(np.fromiter(sizes, dtype=np.int64, count=len(plain)))
    starts = np.concatenate((np.zeros(min(1, len(ends)), dtype=np.int64), ends[:-1]))
    return span_hashes(np.frombuffer(joined.encode(), dtype=np.uint8), starts, ends)


def _plain(spelling: str) -> str:
    return spelling if spelling.startswith("operator") else spelling.split("<", 1)[0].lstrip("~")
