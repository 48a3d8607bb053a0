"""Tokens of distinct words on the device: a word that is a token is looked up, any other is merged by rank.

The merging kernel takes the square of a word's length; words longer than LONG_WORD, of which code has hardly any, are
merged on the host.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.tokenizer.gpu.kernels.encode import merge_words
from megacpp_assets.tokenizer.gpu.table import Table
from megacpp_assets.tokenizer.gpu.words import LONG_WORD, Words, compacted, hashes, joined, same_words
from megacpp_assets.tokenizer.model import Model, make_encoder

LANES = 32


class Dictionary:
    """The vocabulary and the merges of a model on `device`. `widths` (int64) are the bytes of each id."""

    def __init__(self, model: Model, device: torch.device) -> None:
        tokens = model.token_bytes()
        self._native = make_encoder(model)
        self.widths = torch.tensor([len(token) for token in tokens], device=device)
        self.byte_ids = torch.tensor(_byte_ids(model, tokens), dtype=torch.int32, device=device)
        self._tokens = _words_of(tokens, model.reachable(), device)
        self._reachable = torch.tensor(model.reachable(), dtype=torch.int32, device=device)
        self._hashes, self._order = hashes(self._tokens).sort()
        if len(torch.unique(self._hashes)) != len(self._hashes):
            raise SpecError("vocabulary", expected="a hash of its own for every token", found="equal ones")
        merges = torch.from_numpy(model.merges.astype(np.int64)).to(device)
        self._table = Table.empty(len(merges) + 1, device)
        slots = self._table.insert(merges[:, 0] << 32 | merges[:, 1])
        self._ranks = torch.full((self._table.capacity + 1,), -1, dtype=torch.int32, device=device)
        self._ranks[slots] = torch.arange(len(merges), dtype=torch.int32, device=device)
        self._products = merges[:, 2].to(torch.int32)

    def encode(self, words: Words) -> tuple[Tensor, Tensor]:
        """(ids of all words in order, int32; how many each has, int64)."""
        whole = self._whole(words)
        rest = whole < 0
        tokens, counts = self._merged(_chosen(words, rest))
        number = torch.ones_like(words.starts)
        number[rest] = counts
        ids = torch.empty(int(number.sum()), dtype=torch.int32, device=number.device)
        merged = torch.repeat_interleave(rest, number)
        ids[merged] = tokens
        ids[~merged] = whole[~rest]
        return ids, number

    def _whole(self, words: Words) -> Tensor:
        """The id of each word that is a token, else -1. int32."""
        if len(words) == 0:
            return torch.zeros(0, dtype=torch.int32, device=words.starts.device)
        wanted = hashes(words)
        place = torch.searchsorted(self._hashes, wanted).clamp(max=len(self._hashes) - 1)
        token = self._order[place]
        hit = (self._hashes[place] == wanted) & (self._tokens.lengths[token] == words.lengths)
        self._require_equal(words, token, hit)
        return torch.where(hit, self._reachable[token], -1)

    def _require_equal(self, words: Words, token: Tensor, hit: Tensor) -> None:
        """A word with a token's hash and length must have its bytes; `SpecError` for the one in 2^64 that has not."""
        found = _chosen(words, hit)
        both = joined(found, self._tokens)
        starts = self._tokens.starts[token[hit]] + len(words.cells)
        if not same_words(Words(both.cells, found.starts, found.lengths, found.counts), starts, found.lengths):
            raise SpecError(
                "words", expected="no hash shared with another token", found="a collision", do="use the CPU"
            )

    def _merged(self, words: Words) -> tuple[Tensor, Tensor]:
        """As `encode`, for words that are no tokens."""
        long = words.lengths > LONG_WORD
        tokens, counts = self._merged_here(_chosen(words, ~long))
        if not bool(long.any()):
            return tokens, counts
        found = [self._merged_on_host(word) for word in _host_bytes(_chosen(words, long))]
        number = torch.empty_like(words.lengths)
        number[~long] = counts
        number[long] = torch.tensor([len(ids) for ids in found], device=number.device)
        ids = torch.empty(int(number.sum()), dtype=torch.int32, device=number.device)
        of_long = torch.repeat_interleave(long, number)
        ids[~of_long] = tokens
        ids[of_long] = torch.cat(found).to(ids.device)
        return ids, number

    def _merged_on_host(self, word: bytes) -> Tensor:
        """A word is one word by itself too; BOS is left out."""
        return torch.from_numpy(self._native.encode_ids([word])[0][1:].astype(np.int32))

    def _merged_here(self, words: Words) -> tuple[Tensor, Tensor]:
        words = compacted(words)
        size = len(words.cells)
        symbols, ranks, following, preceding = torch.empty((4, size), dtype=torch.int32, device=words.starts.device)
        if len(words):
            merge_words[(len(words),)](
                words.cells, self.byte_ids, words.starts, words.lengths, symbols, ranks, following, preceding,
                self._table.keys, self._ranks, self._products, self._table.capacity, LANES=LANES,
            )  # fmt: skip
        alive = symbols >= 0
        before = torch.cat([alive.new_zeros(1, dtype=torch.int64), alive.cumsum(0)])
        return symbols[alive], before[words.starts + words.lengths] - before[words.starts]


def _chosen(words: Words, mask: Tensor) -> Words:
    return Words(words.cells, words.starts[mask], words.lengths[mask], words.counts[mask])


def _host_bytes(words: Words) -> list[bytes]:
    pairs = zip(words.starts.tolist(), words.lengths.tolist(), strict=True)
    return [words.cells[start : start + length].to(torch.uint8).cpu().numpy().tobytes() for start, length in pairs]


def _byte_ids(model: Model, tokens: list[bytes]) -> list[int]:
    """The id of each of the 256 bytes."""
    ids = {tokens[index]: index for index in model.reachable() if len(tokens[index]) == 1}
    return [ids[bytes([byte])] for byte in range(256)]


def _words_of(tokens: list[bytes], chosen: list[int], device: torch.device) -> Words:
    texts = [tokens[index] for index in chosen]
    lengths = torch.tensor([len(text) for text in texts], device=device)
    cells = torch.from_numpy(np.frombuffer(b"".join(texts), dtype=np.uint8).astype(np.int16)).to(device)
    return Words(cells, lengths.cumsum(0) - lengths, lengths, torch.ones_like(lengths))
