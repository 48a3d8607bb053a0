"""A 64-bit fingerprint of each document over several columns, to compare it with itself one stage later.

Flat values and the places of documents among them come in, one number per document goes out. It depends on every value,
its column and its place in the document, and not on where the document lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_ODD = 0x9E3779B97F4A7C15
_BASE = 0xD1342543DE82EF95
_BASE_INVERSE = pow(_BASE, -1, 1 << 64)
_SHIFT = np.uint64(29)


def fingerprints(
    columns: Sequence[NDArray[Any]], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """One fingerprint per document: it has the values [starts[i], ends[i]) of each of `columns`, which are integers.

    A sum of each place's mixed values times that place's power of an odd number; dividing by the power of the
    document's start makes it the same wherever the document lies.
    """
    count = len(columns[0])
    mixed, scaled = np.zeros(count, dtype=np.uint64), np.empty(count, dtype=np.uint64)
    for number, values in enumerate(columns):
        factor = np.uint64(_ODD * (2 * number + 1) % (1 << 64))
        np.multiply(values, factor, out=scaled, dtype=np.uint64, casting="unsafe")
        mixed += scaled
    np.right_shift(mixed, _SHIFT, out=scaled)
    mixed ^= scaled
    mixed += np.uint64(1)  # a document of zeros is told from a longer one
    mixed *= _powers(_BASE, _room(count))[:count]
    running = np.zeros(count + 1, dtype=np.uint64)
    np.cumsum(mixed, out=running[1:])
    return np.asarray((running[ends] - running[starts]) * _powers(_BASE_INVERSE, _room(count + 1))[starts])


def text_keys(texts: pa.Array) -> NDArray[np.uint64]:
    """A 64-bit key for each string."""
    encoded = pc.cast(texts.fill_null(""), pa.large_binary())
    offsets = np.frombuffer(encoded.buffers()[1], np.int64)[encoded.offset : encoded.offset + len(encoded) + 1]
    data = encoded.buffers()[2]
    values = np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
    return fingerprints([values], offsets[:-1], offsets[1:])


def _room(count: int) -> int:
    """The next power of two: few tables of powers serve all calls."""
    return 1 << max(10, (count - 1).bit_length())


@cache
def _powers(base: int, count: int) -> NDArray[np.uint64]:
    """The first `count` powers of `base`, modulo 2**64."""
    powers = np.full(count, base, dtype=np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)
