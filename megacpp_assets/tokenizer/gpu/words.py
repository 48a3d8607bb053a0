"""Words without repetition: hashed in parallel, grouped by hash, and compared byte by byte with one of their group."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
from torch import Tensor

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.tokenizer.gpu.kernels.hashing import LANES, MIX_FIRST, MIX_SECOND, PLACE_STRIDE, hash_words

_SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344, 0x2BFE14C8A4093822, 0x299F31D0082EFA98)
LONG_WORD = 256
"""Bytes from which on a word is no longer the work of one lane or one program. Code has hardly any."""


@dataclass(frozen=True, slots=True)
class Words:
    """Distinct words: word i is `cells[starts[i] : starts[i] + lengths[i]]` (int16) and was seen `counts[i]` times."""

    cells: Tensor
    starts: Tensor
    lengths: Tensor
    counts: Tensor

    def __len__(self) -> int:
        return len(self.starts)


def no_words(device: torch.device) -> Words:
    """Nothing yet."""
    none = torch.zeros(0, dtype=torch.int64, device=device)
    return Words(none.to(torch.int16), none, none, none)


def distinct(words: Words) -> tuple[Words, Tensor]:
    """The distinct ones among `words`, their counts added up, and for each of `words` which of those it is."""
    if len(words) == 0:
        return words, words.starts
    for seed in _SEEDS:
        _, group = torch.unique(hashes(words, seed), return_inverse=True)
        number = int(group.max()) + 1
        places = torch.arange(len(group), device=group.device)
        first = places.new_full((number,), len(group)).scatter_reduce(0, group, places, "amin")
        if same_words(words, words.starts[first[group]], words.lengths[first[group]]):
            counts = words.counts.new_zeros(number).index_add(0, group, words.counts)
            return Words(words.cells, words.starts[first], words.lengths[first], counts), group
    raise SpecError("words", expected="distinct 64-bit hashes under one of four seeds", found="collisions under all")


def compacted(words: Words) -> Words:
    """The same words in cells of their own."""
    starts = words.lengths.cumsum(0) - words.lengths
    places = _byte_places(words.starts, words.lengths)
    return Words(words.cells[places], starts, words.lengths, words.counts)


def joined(first: Words, second: Words) -> Words:
    """Both, repetitions included."""
    return Words(
        torch.cat([first.cells, second.cells]),
        torch.cat([first.starts, second.starts + len(first.cells)]),
        torch.cat([first.lengths, second.lengths]),
        torch.cat([first.counts, second.counts]),
    )


def hashes(words: Words, seed: int = _SEEDS[0]) -> Tensor:
    """A 64-bit hash of each word (int64). The kernel walks a word byte by byte; the bytes of a long one are summed."""
    result = torch.empty_like(words.starts)
    if len(words) == 0:
        return result
    long = words.lengths > LONG_WORD
    grid = (triton.cdiv(len(words), LANES),)
    short = words.lengths.masked_fill(long, 0)
    hash_words[grid](words.cells, words.starts, short, result, len(words), seed, LANES=LANES)
    if bool(long.any()):
        result[long] = _sums(words.cells, words.starts[long], words.lengths[long], seed)
    return result


def _sums(cells: Tensor, starts: Tensor, lengths: Tensor, seed: int) -> Tensor:
    """A hash of each word from its bytes, each mixed with its place in the word."""
    places = _byte_places(starts, lengths)
    values = _mixed(cells[places] + 1 + (places - torch.repeat_interleave(starts, lengths)) * PLACE_STRIDE.value + seed)
    owners = torch.repeat_interleave(torch.arange(len(starts), device=starts.device), lengths)
    return _mixed(lengths.index_add(0, owners, values))


def _mixed(value: Tensor) -> Tensor:
    """As the kernels' `mixed`."""
    value = (value ^ (value >> 33)) * MIX_FIRST.value
    value = (value ^ (value >> 29)) * MIX_SECOND.value
    return value ^ (value >> 32)


def same_words(words: Words, starts: Tensor, lengths: Tensor) -> bool:
    """Whether each word has the length and the bytes of that at `starts`, `lengths` in the same cells."""
    if not torch.equal(words.lengths, lengths):
        return False
    mine, theirs = _byte_places(words.starts, lengths), _byte_places(starts, lengths)
    return torch.equal(words.cells[mine], words.cells[theirs])


def _byte_places(starts: Tensor, lengths: Tensor) -> Tensor:
    """Where each byte of each word is, word after word."""
    shift = starts - (lengths.cumsum(0) - lengths)
    return torch.arange(int(lengths.sum()), device=starts.device) + torch.repeat_interleave(shift, lengths)
