"""Fill-in-the-middle: a document's tokens rearranged so that its middle comes last, and back.

A middle begins where a chunk begins and ends where one ends. A rearranged document is BOS PREFIX prefix SUFFIX suffix
MIDDLE middle EOS, or BOS PREFIX SUFFIX suffix MIDDLE prefix middle EOS (docs/contracts.md): four marks more.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.specials import BOS_ID, EOS_ID, FIM_MARKS, FIM_MIDDLE_ID, FIM_PREFIX_ID, FIM_SUFFIX_ID

ADDED: Final = len(FIM_MARKS)
"""Tokens that a rearranged document has more."""
MARK: Final = -1
"""In an order of tokens, the place of a mark."""
LOST: Final = -1


@dataclass(frozen=True, slots=True)
class Cut:
    """The middle of a document, its tokens [start, end), and whether the suffix comes first."""

    start: int
    end: int
    suffix_first: bool


@dataclass(frozen=True, slots=True)
class Draw:
    """What decides over a document: the recipe's `seed` and shares, its `name`, and `epoch`, how often it was taken."""

    seed: int
    rate: float
    suffix_first: float

    def cut(self, name: str, epoch: int, starts: NDArray[Any], ends: NDArray[Any], tokens: int) -> Cut | None:
        """The cut of a document of `tokens` tokens with these chunks; None where it stays as it is.

        It does where the draw says so, and where no chunk lies between a prefix and a suffix that are not empty.
        """
        digest = hashlib.sha256(f"{self.seed}/{epoch}/{name}".encode()).digest()
        chance, order, first, last = (int.from_bytes(digest[8 * i : 8 * i + 8], "big") for i in range(4))
        if chance >= self.rate * 2**64:
            return None
        starts = np.unique(starts[(starts > 1) & (starts < tokens - 1)])
        ends = np.unique(ends[ends < tokens])
        starts = starts[starts < ends.max(initial=0)]
        if not len(starts):
            return None
        start = int(starts[first % len(starts)])
        ends = ends[ends > start]
        return Cut(start, int(ends[last % len(ends)]), order < self.suffix_first * 2**64)


def order_of(cut: Cut, tokens: int) -> NDArray[np.int64]:
    """Which token of the document stands at each place of the rearranged one; `MARK` for a mark."""
    mark, bos = np.array([MARK]), np.array([0])
    prefix, middle, suffix = np.arange(1, cut.start), np.arange(cut.start, cut.end), np.arange(cut.end, tokens)
    if cut.suffix_first:
        parts = [bos, mark, mark, suffix, mark, prefix, middle, mark]
    else:
        parts = [bos, mark, prefix, mark, suffix, mark, middle, mark]
    return np.concatenate(parts).astype(np.int64)


def marks_of(cut: Cut) -> NDArray[np.uint32]:
    """The marks in the order in which they stand."""
    return np.array([FIM_PREFIX_ID, FIM_SUFFIX_ID, FIM_MIDDLE_ID, EOS_ID], dtype=np.uint32)


def moved_chunks(
    cut: Cut, tokens: int, starts: NDArray[Any], ends: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(starts, ends, chosen, index_of) of the chunks of a rearranged document, starts rising.

    `chosen` are the chunks that lie in one of the three parts, in their new order; `index_of` gives each chunk's new
    index, `LOST` for one that a cut goes through.
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
    """The places of a rearranged document's tokens in the order of the document that it was; None if it is none."""
    if len(ids) < ADDED + 1 or ids[0] != BOS_ID or ids[1] != FIM_PREFIX_ID or ids[-1] != EOS_ID:
        return None
    suffix, middle = (np.flatnonzero(ids == mark) for mark in (FIM_SUFFIX_ID, FIM_MIDDLE_ID))
    if len(suffix) != 1 or len(middle) != 1 or suffix[0] > middle[0]:
        return None
    behind, before = np.arange(suffix[0] + 1, middle[0]), np.arange(2, suffix[0])
    return np.concatenate([[0], before, np.arange(middle[0] + 1, len(ids) - 1), behind]).astype(np.int64)
