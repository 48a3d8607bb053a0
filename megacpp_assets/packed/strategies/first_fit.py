"""First fit: each document, in source order, goes into the first row that has space for it.

A row mixes documents that are close in the source with documents that fill its gaps. Rows are slightly less full than
with best fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.packed.plan import RowLimits, RowPlan


def first_fit(lengths: NDArray[np.int64], chunks: NDArray[np.int64], limits: RowLimits, seed: int) -> RowPlan:
    """Place each document, in source order, into the first row with space. `seed` decides the order of the rows."""
    spaces = _FreeSpace(limits)
    row_of = np.fromiter(
        (spaces.place(size, parts) for size, parts in zip(lengths.tolist(), chunks.tolist(), strict=True)), np.int64
    )
    rows = int(row_of.max(initial=-1)) + 1
    place = np.random.Generator(np.random.PCG64(seed)).permutation(rows)[row_of]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=rows))])
    return RowPlan(np.argsort(place, kind="stable"), offsets.astype(np.int64))


class _FreeSpace:
    """The free tokens and chunks of all rows, as a binary tree whose nodes have the maxima of their subtrees.

    The first row with space is found in about log2(rows) steps instead of a scan over all rows. Leaf r is row r. A leaf
    of an unused row has all its space, so a new row needs no special case.
    """

    def __init__(self, limits: RowLimits) -> None:
        self._limits = limits
        self._leaves = 1
        self._tokens = [limits.tokens] * 2
        self._chunks = [limits.chunks] * 2

    def place(self, size: int, parts: int) -> int:
        """Reserve space for a document in the first row that has enough, and return the row's number."""
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
        """Return the leaf of the first row with enough space; None if the tree has too few leaves."""
        waiting = [1]
        while waiting:
            node = waiting.pop()
            if self._tokens[node] < size or self._chunks[node] < parts:
                continue
            if node >= self._leaves:
                return node
            # The two maxima of a node may come from different rows, so its left half may still have no row that fits.
            # The right half is searched after the left one.
            waiting += (2 * node + 1, 2 * node)
        return None

    def _double(self) -> None:
        self._leaves *= 2
        self._tokens = _doubled(self._tokens, self._limits.tokens)
        self._chunks = _doubled(self._chunks, self._limits.chunks)


def _doubled(tree: list[int], all_space: int) -> list[int]:
    """Return a tree with twice as many leaves. The rows of the new half are unused."""
    wide, width = [all_space, all_space], 1
    while width < len(tree):
        wide += tree[width : 2 * width] + [all_space] * width
        width *= 2
    return wide
