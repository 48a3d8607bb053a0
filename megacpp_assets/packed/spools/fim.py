"""Fill-in-the-middle: rearranges a document's tokens so that its middle comes last, and restores the order.

A middle begins where a chunk begins and ends where a chunk ends. A rearranged document is BOS PREFIX prefix SUFFIX
suffix MIDDLE middle EOS, or BOS PREFIX SUFFIX suffix MIDDLE prefix middle EOS (docs/contracts.md). It has four more
tokens, the marks PREFIX, SUFFIX, MIDDLE and EOS.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.tokens.specials import (
    BOS_ID,
    EOS_ID,
    FIM_MARKS,
    FIM_MIDDLE_ID,
    FIM_PREFIX_ID,
    FIM_SUFFIX_ID,
)

ADDED: Final = len(FIM_MARKS)
"""The number of tokens that rearranging adds to a document."""
MARK: Final = -1
"""Entry of a token order for a mark, which is no token of the document."""
LOST: Final = -1
"""New index of a chunk that a cut divides."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The middle of a document, its tokens [start, end), and whether the suffix comes before the prefix."""

    start: int
    end: int
    suffix_first: bool


@dataclass(frozen=True, slots=True)
class Draw:
    """Decides for each document whether and where it is cut, from the recipe's values.

    `rate` is the share of documents to rearrange, and `suffix_first` the share of these with the suffix first, 0 to 1.
    """

    seed: int
    rate: float
    suffix_first: float

    def cut(self, name: str, epoch: int, starts: NDArray[Any], ends: NDArray[Any], tokens: int) -> Cut | None:
        """Return the cut of a document, or None if it stays unchanged.

        It stays unchanged if the draw says so, or if no cut at chunk borders leaves a non-empty prefix and suffix.

        Args:
            name: `repository/document id`.
            epoch: how often the mixture took the document before; each time is drawn anew.
            starts: first token of each chunk, shape (chunks,).
            ends: token after each chunk, shape (chunks,).
            tokens: number of tokens, BOS included.
        """
        # A hash instead of a random generator: the draw depends on this document alone, not on the order of documents.
        digest = hashlib.sha256(f"{self.seed}/{epoch}/{name}".encode()).digest()
        chance, order, first, last = (int.from_bytes(digest[8 * i : 8 * i + 8], "big") for i in range(4))
        if chance >= self.rate * 2**64:
            return None
        # Token 0 is BOS and token 1 belongs to the prefix, so a middle starts at 2 or later and ends before the last
        # token.
        starts = np.unique(starts[(starts > 1) & (starts < tokens - 1)])
        ends = np.unique(ends[ends < tokens])
        starts = starts[starts < ends.max(initial=0)]
        if not len(starts):
            return None
        start = int(starts[first % len(starts)])
        ends = ends[ends > start]
        return Cut(start, int(ends[last % len(ends)]), order < self.suffix_first * 2**64)


def order_of(cut: Cut, tokens: int) -> NDArray[np.int64]:
    """Return the document's token index at each position of the rearranged document; `MARK` for a mark.

    Shape (tokens + 4,).
    """
    mark, bos = np.array([MARK]), np.array([0])
    prefix, middle, suffix = np.arange(1, cut.start), np.arange(cut.start, cut.end), np.arange(cut.end, tokens)
    if cut.suffix_first:
        parts = [bos, mark, mark, suffix, mark, prefix, middle, mark]
    else:
        parts = [bos, mark, prefix, mark, suffix, mark, middle, mark]
    return np.concatenate(parts).astype(np.int64)


def marks_of(cut: Cut) -> NDArray[np.uint32]:
    """Return the ids of the four marks in the order in which they occur, which is the same for both arrangements."""
    return np.array([FIM_PREFIX_ID, FIM_SUFFIX_ID, FIM_MIDDLE_ID, EOS_ID], dtype=np.uint32)


def moved_chunks(
    cut: Cut, tokens: int, starts: NDArray[Any], ends: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return (starts, ends, chosen, index_of) of the chunks of a rearranged document, sorted by start.

    `chosen` has the old indices of the chunks that lie within one of the three parts, in their new order. `index_of`
    maps an old index to the new one, or to `LOST` if a border of the middle divides the chunk.
    """
    order = order_of(cut, tokens)
    place = np.empty(tokens, dtype=np.int64)
    place[order[order != MARK]] = np.flatnonzero(order != MARK)
    bounds = np.array([1, cut.start, cut.end, tokens])
    first, last = starts.astype(np.int64), ends.astype(np.int64) - 1
    whole = np.flatnonzero(np.searchsorted(bounds, first, "right") == np.searchsorted(bounds, last, "right"))
    chosen = whole[np.argsort(place[first[whole]], kind="stable")]
    index_of = np.full(len(starts), LOST, dtype=np.int64)
    index_of[chosen] = np.arange(len(chosen))
    return place[first[chosen]], place[last[chosen]] + 1, chosen, index_of


def restored_order(ids: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the positions in a rearranged document `ids` of the original tokens, in their original order; marks are
    left out.

    None if `ids` is not a rearranged document.
    """
    if len(ids) < ADDED + 1 or ids[0] != BOS_ID or ids[1] != FIM_PREFIX_ID or ids[-1] != EOS_ID:
        return None
    suffix, middle = (np.flatnonzero(ids == mark) for mark in (FIM_SUFFIX_ID, FIM_MIDDLE_ID))
    if len(suffix) != 1 or len(middle) != 1 or suffix[0] > middle[0]:
        return None
    # If the suffix comes first, SUFFIX follows PREFIX at once: `prefix` is empty here, and prefix and middle together
    # follow MIDDLE. So one expression restores both arrangements.
    prefix, rest = np.arange(2, suffix[0]), np.arange(middle[0] + 1, len(ids) - 1)
    return np.concatenate([[0], prefix, rest, np.arange(suffix[0] + 1, middle[0])]).astype(np.int64)
