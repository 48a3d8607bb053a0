"""The distinct words of a slice, on the device: hashed, compared byte by byte, and counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from megacpp_assets.tokenizer.webgpu.gpu import LANES, Gpu
from megacpp_assets.tokenizer.webgpu.pool import Pool
from megacpp_assets.tokenizer.webgpu.scan import scan_calls
from megacpp_assets.tokenizer.webgpu.splitting import Split

WORD_WORDS = 4
"""First place, length, number of occurrences, number of tokens."""


@dataclass(frozen=True, slots=True)
class Words:
    """`words` has `count` rows in the order of first occurrences. `counts`: pieces, distinct words, mask."""

    count: int
    words: Any
    counts: Any


def distinct_words(gpu: Gpu, pool: Pool, split: Split) -> Words:
    """Return the distinct words of `split`. The value of each piece becomes the number of its word."""
    number = split.count
    slots = 1 << (2 * number).bit_length()
    counts = pool.numbers("counts", number, 0, slots - 1)
    claims, firsts = pool.cleared("claims", slots), pool.cleared("firsts", slots)
    times, ranks = pool.cleared("times", slots), pool.take("ranks", number)
    words = pool.take("words", WORD_WORDS * number)
    sums = pool.take("sums", -(-number // LANES))
    gpu.run(
        [
            gpu.call("words_insert", [split.pieces, counts, split.bytes, claims, firsts, times], number),
            gpu.call("words_flag", [split.pieces, counts, firsts, ranks], number),
            *scan_calls(gpu, ranks, sums, counts, number),
            gpu.call("words_list", [split.pieces, counts, firsts, ranks, times, words], number),
        ]
    )
    return Words(int(gpu.read(counts, 1, at=1)[0]), words, counts)
