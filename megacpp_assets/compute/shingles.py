"""Texts of code as sets of hashed runs of tokens, so that copies are found whatever their white space and comments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute import _shingles
from megacpp_assets.compute._shingles import SeenRuns, SharedRuns

Shingles = NDArray[np.uint64]
"""Ascending, each once."""

TOKENS: Final = 5
"""Tokens of a run, as near-duplicate filters of code corpora take them (BigCode, OpenCoder)."""
LEAST_RUNS: Final = 20
"""A text of fewer runs may be like another by chance: `int size() const { return size_; }`."""


def shingles(text: str, tokens: int = TOKENS) -> Shingles:
    """The runs of `tokens` tokens of `text`, comments left out; none if it has fewer."""
    return _shingles.shingles(text, tokens)


class Verbatim:
    """Texts, given by their runs, that stand in others verbatim: every run of theirs is in some of those."""

    def __init__(self, texts: Sequence[Shingles]) -> None:
        self._lengths = np.array([len(text) for text in texts], dtype=np.int64)
        self._runs = SeenRuns(_end_to_end(texts))

    def see(self, other: str, tokens: int) -> None:
        """Look for the texts in `other`; their runs are of `tokens` tokens."""
        self._runs.see(other, tokens)

    def found(self) -> NDArray[np.bool_]:
        """Of each text, whether all of its runs have been seen; false for one without runs."""
        sums = np.concatenate(([0], np.cumsum(self._runs.seen(), dtype=np.int64)))
        ends = np.cumsum(self._lengths)
        return np.asarray((sums[ends] - sums[ends - self._lengths] == self._lengths) & (self._lengths > 0))


class Copies:
    """Texts that others may copy: which of them another text holds for the larger part."""

    def __init__(self, texts: Sequence[Shingles]) -> None:
        self._lengths = np.array([len(text) for text in texts], dtype=np.int64)
        owner = np.repeat(np.arange(len(texts)), self._lengths)
        every = _end_to_end(texts)
        order = np.argsort(every, kind="stable")
        self._runs, self._owner = every[order], owner[order]
        self._shared = SharedRuns(self._runs, self._owner)

    def held_by_text(self, text: str, share: float) -> NDArray[np.int64]:
        """As `held_by`, for a text that may share little with any of them; none if it has fewer than `LEAST_RUNS`."""
        numbers, counts, known = self._shared.shared_with(text, TOKENS)
        # Most texts hold too little of any, however few runs they have: theirs need not be sorted and told apart.
        if not (counts >= share * np.minimum(self._lengths[numbers], max(known, LEAST_RUNS))).any():
            return np.zeros(0, dtype=np.int64)
        runs = shingles(text)
        return self.held_by(runs, share) if len(runs) >= LEAST_RUNS else np.zeros(0, dtype=np.int64)

    def held_by(self, text: Shingles, share: float) -> NDArray[np.int64]:
        """The numbers of the texts of whose runs `text` has at least `share`, and of those that hold as much of it."""
        first = np.searchsorted(self._runs, text, side="left")
        last = np.searchsorted(self._runs, text, side="right")
        hits = np.repeat(first - np.concatenate(([0], np.cumsum(last - first)[:-1])), last - first)
        owners = self._owner[hits + np.arange(len(hits))] if len(hits) else np.zeros(0, dtype=np.int64)
        counts = np.bincount(owners, minlength=len(self._lengths))
        smaller = np.minimum(np.maximum(self._lengths, 1), max(len(text), 1))
        return np.flatnonzero((counts > 0) & (counts >= share * smaller))


def _end_to_end(texts: Sequence[Shingles]) -> Shingles:
    return np.concatenate([np.zeros(0, dtype=np.uint64), *texts])
