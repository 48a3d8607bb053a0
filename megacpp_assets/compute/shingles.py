"""Finds copies of code by hashed runs of tokens (shingles), whatever their white space and comments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute import _shingles
from megacpp_assets.compute._shingles import NearCopies, SeenRuns, SharedRuns

Runs = SharedRuns
"""Finds the texts that share shingles with another text, given the shingles of all and the owner of each."""
Shingles = NDArray[np.uint64]
"""The hashes of a text's shingles: uint64, ascending, without repetition."""

TOKENS: Final = 5
"""Tokens per shingle, as in the near-duplicate filters of BigCode and OpenCoder."""
LEAST_RUNS: Final = 20
"""Shorter texts may equal another text by chance, such as `int size() const { return size_; }`."""


def shingles(text: str, tokens: int = TOKENS) -> Shingles:
    """Return the shingles of `tokens` tokens of `text`, without its comments. A shorter text has none."""
    return _shingles.shingles(text, tokens)


def runs_in_order(text: str, tokens: int, *, alike: bool = False) -> NDArray[np.uint64]:
    """Return the hash of the shingle that begins at each token of `text`, in order: uint64, with repetitions.

    With `alike`, every name that is no keyword is the same token.
    """
    return _shingles.runs(text, tokens, alike)


def token_places(text: str) -> NDArray[np.int64]:
    """Return start and end of each token of `text` in characters: int64 (tokens, 2)."""
    return _shingles.places(text).reshape(-1, 2)


class Verbatim:
    """Finds which of `texts` (as shingles) appear verbatim in other texts: all of their shingles appear there."""

    def __init__(self, texts: Sequence[Shingles]) -> None:
        self._lengths = np.array([len(text) for text in texts], dtype=np.int64)
        self._runs = SeenRuns(_end_to_end(texts))

    def see(self, other: str, tokens: int) -> None:
        """Search `other` for the texts, with shingles of `tokens` tokens."""
        self._runs.see(other, tokens)

    def found(self) -> NDArray[np.bool_]:
        """Return for each text whether all of its shingles were seen; false for a text without shingles."""
        sums = np.concatenate(([0], np.cumsum(self._runs.seen(), dtype=np.int64)))
        ends = np.cumsum(self._lengths)
        return np.asarray((sums[ends] - sums[ends - self._lengths] == self._lengths) & (self._lengths > 0))


class Copies:
    """Finds which of `texts` (as shingles) another text copies.

    It copies a text if at least `share` of the shingles of the shorter one of both are in the other.

    `share` is above 0 and at most 1; another one raises ValueError.
    """

    def __init__(self, texts: Sequence[Shingles], share: float) -> None:
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        self._copies = NearCopies(_end_to_end(texts), lengths, share)

    def in_text(self, text: str) -> NDArray[np.int64]:
        """Return the numbers of the texts that `text` copies: int64, ascending.

        A text of fewer than `LEAST_RUNS` shingles copies none.
        """
        return self._copies.in_text(text, TOKENS, LEAST_RUNS)


class Withheld:
    """Guards `texts` (as shingles): other texts may show parts of them, but all together never a whole one."""

    def __init__(self, texts: Sequence[Shingles]) -> None:
        every = _end_to_end(texts)
        order = np.argsort(every, kind="stable")
        self._owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])[order]
        self._runs, first = np.unique(every[order], return_index=True)
        self._ends = np.append(first, len(every))
        self._shown = np.zeros(len(self._runs), dtype=np.bool_)
        self._missing = np.array([len(text) for text in texts], dtype=np.int64)

    def completed_by(self, other: Shingles) -> int | None:
        """Return the number of the first text that `other` and all texts shown before would show whole.

        If there is none, return None and count `other` as shown.
        """
        if not len(self._runs):
            return None
        places = np.minimum(np.searchsorted(self._runs, other), len(self._runs) - 1)
        fresh = places[self._runs[places] == other]
        fresh = fresh[~self._shown[fresh]]
        owners = [self._owner[self._ends[place] : self._ends[place + 1]] for place in fresh.tolist()]
        counts = np.bincount(np.concatenate([np.zeros(0, np.int64), *owners]), minlength=len(self._missing))
        whole = np.flatnonzero((counts > 0) & (self._missing == counts))
        if len(whole):
            return int(whole[0])
        self._shown[fresh] = True
        self._missing -= counts
        return None


def _end_to_end(texts: Sequence[Shingles]) -> Shingles:
    return np.concatenate([np.zeros(0, dtype=np.uint64), *texts])
