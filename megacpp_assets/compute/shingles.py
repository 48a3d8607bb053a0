"""Texts of code as sets of hashed runs of tokens, so that copies are found whatever their white space and comments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute import _shingles

Shingles = NDArray[np.uint64]
"""Ascending, each once."""

TOKENS: Final = 5
"""Tokens of a run, as near-duplicate filters of code corpora take them (BigCode, OpenCoder)."""
LEAST_RUNS: Final = 20
"""A text of fewer runs may be like another by chance: `int size() const { return size_; }`."""


def shingles(text: str, tokens: int = TOKENS) -> Shingles:
    """The runs of `tokens` tokens of `text`, comments left out; none if it has fewer."""
    return _shingles.shingles(text, tokens)


def joined(parts: Iterable[Shingles]) -> Shingles:
    """All of `parts` as one set."""
    every: Shingles = np.sort(np.concatenate([np.zeros(0, dtype=np.uint64), *parts]))
    fresh = np.ones(len(every), dtype=np.bool_)
    fresh[1:] = every[1:] != every[:-1]
    return every[fresh]


def shares(texts: Sequence[Shingles], whole: Shingles) -> NDArray[np.float64]:
    """Of each of `texts`, the part of its runs that are among those of `whole`; 0 for one without runs."""
    if not texts:
        return np.zeros(0)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    every = np.concatenate(texts)
    at = np.searchsorted(whole, every)
    found = np.append(whole, np.uint64(0))[at] == every if len(whole) else np.zeros(len(every), dtype=bool)
    found &= at < len(whole)
    sums = np.concatenate(([0], np.cumsum(found)))
    ends = np.cumsum(lengths)
    return np.asarray((sums[ends] - sums[ends - lengths]) / np.maximum(lengths, 1))


class Copies:
    """Texts that others may copy: which of them another text holds for the larger part."""

    def __init__(self, texts: Sequence[Shingles]) -> None:
        self._lengths = np.array([len(text) for text in texts], dtype=np.int64)
        owner = np.repeat(np.arange(len(texts)), self._lengths)
        every = np.concatenate([np.zeros(0, dtype=np.uint64), *texts])
        order = np.argsort(every, kind="stable")
        self._runs, self._owner = every[order], owner[order]

    def held_by(self, text: Shingles, share: float) -> NDArray[np.int64]:
        """The numbers of the texts of whose runs `text` has at least `share`, and of those that hold as much of it."""
        first = np.searchsorted(self._runs, text, side="left")
        last = np.searchsorted(self._runs, text, side="right")
        hits = np.repeat(first - np.concatenate(([0], np.cumsum(last - first)[:-1])), last - first)
        owners = self._owner[hits + np.arange(len(hits))] if len(hits) else np.zeros(0, dtype=np.int64)
        counts = np.bincount(owners, minlength=len(self._lengths))
        smaller = np.minimum(np.maximum(self._lengths, 1), max(len(text), 1))
        return np.flatnonzero((counts > 0) & (counts >= share * smaller))
