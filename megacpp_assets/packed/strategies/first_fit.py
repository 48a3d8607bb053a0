"""Documents in the order they come, each in the first row that still has room for it.

Rows mix what lies close in the source with what fills the gaps; a little less is filled than by best fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.packed.plan import RowLimits, RowPlan


def first_fit(lengths: NDArray[np.int64], chunks: NDArray[np.int64], limits: RowLimits, seed: int) -> RowPlan:
    """Each document in source order goes to the first row with room; the order of the rows follows `seed`."""
    rooms = _Rooms(limits)
    row_of = np.fromiter(
        (rooms.place(size, parts) for size, parts in zip(lengths.tolist(), chunks.tolist(), strict=True)), np.int64
    )
    rows = int(row_of.max(initial=-1)) + 1
    place = np.random.Generator(np.random.PCG64(seed)).permutation(rows)[row_of]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=rows))])
    return RowPlan(np.argsort(place, kind="stable"), offsets.astype(np.int64))


class _Rooms:
    """The room of all rows as a tree of maxima, in tokens and in chunks: the first that fits is a few steps away.

    Leaf r is row r; leaves of rows that nobody opened yet have all their room, so opening a row needs nothing.
    """

    def __init__(self, limits: RowLimits) -> None:
        self._limits = limits
        self._leaves = 1
        self._tokens = [limits.tokens] * 2
        self._chunks = [limits.chunks] * 2

    def place(self, size: int, parts: int) -> int:
        """Take room for a document in the first row that has it, and give that row."""
        node = self._first(size, parts)
        while node is None:
            self._double()
            node = self._first(size, parts)
        row = node - self._leaves
        self._tokens[node] -= size
        self._chunks[node] -= parts
        while node > 1:
            node //= 2
            self._tokens[node] = max(self._tokens[2 * node], self._tokens[2 * node + 1])
            self._chunks[node] = max(self._chunks[2 * node], self._chunks[2 * node + 1])
        return row

    def _first(self, size: int, parts: int) -> int | None:
        waiting = [1]
        while waiting:
            node = waiting.pop()
            if self._tokens[node] < size or self._chunks[node] < parts:
                continue
            if node >= self._leaves:
                return node
            # Both maxima of a node may be of different rows, so its right half is kept for when the left one has none.
            waiting += (2 * node + 1, 2 * node)
        return None

    def _double(self) -> None:
        self._leaves *= 2
        self._tokens = _doubled(self._tokens, self._limits.tokens)
        self._chunks = _doubled(self._chunks, self._limits.chunks)


def _doubled(tree: list[int], room: int) -> list[int]:
    """A tree of twice the leaves, the new half untouched."""
    wide, width = [room, room], 1
    while width < len(tree):
        wide += tree[width : 2 * width] + [room] * width
        width *= 2
    return wide
