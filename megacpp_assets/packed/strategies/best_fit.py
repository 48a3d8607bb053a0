"""Best-fit decreasing of whole documents into rows, limited in tokens and in chunks.

Lengths and chunk counts come in, a plan of rows goes out; every document is in exactly one row and none is cut. Equal
lengths are placed a block of equal rows at a time, so the work grows with distinct (length, residual) pairs, not with
documents.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.packed.plan import RowLimits, RowPlan, require_fit

_LENGTH_BITS = 17
_INDEX_BITS = 32
_TURNS = 8

Range = tuple[int, int]
"""(first row, rows), all of one residual."""
Step = tuple[int, int, int]
"""(first row, rows, documents that each of these rows takes)."""


def best_fit(
    lengths: NDArray[np.int64],
    chunks: NDArray[np.int64],
    *,
    limits: RowLimits,
    seed: int,
    name_of: Callable[[int], str] = "document {}".format,
) -> RowPlan:
    """Plan the rows of documents of `lengths` tokens (each at least 1) and `chunks` chunks.

    Each document, longest first, goes to the row with the least room that still holds it; which of several equally
    long documents is taken first, and the order of the rows, follow `seed`. Where chunks are scarcer than tokens,
    chunks take the place of length. Documents that bring a row above its other limit are packed again among themselves.
    `PackOverflow`, naming the document by `name_of`, if one alone exceeds a limit: nothing is ever cropped.
    """
    _require_keys(len(lengths), limits)
    require_fit(lengths, chunks, limits, name_of)
    rng = np.random.Generator(np.random.PCG64(seed))
    # Narrow integers: tables that are read at random should stay inside the processor's cache.
    tokens, parts = lengths.astype(np.int32), chunks.astype(np.int32)
    documents, placed, row_ids, rows = np.arange(len(lengths)), [], [], 0
    for turn in range(_TURNS):
        sizes, second, cap = _dimensions(tokens, parts, limits, joint=turn == _TURNS - 1)
        order, row_of, made = _place(sizes, limits.tokens, rng)
        late = _above_cap(row_of, second[order], cap, made)
        ordered = documents[order] if turn else order
        placed.append(ordered if late is None else ordered[~late])
        row_of += rows
        row_ids.append(row_of if late is None else row_of[~late])
        rows += made
        if late is None:
            break
        documents, tokens, parts = ordered[late], tokens[order[late]], parts[order[late]]
    return _shuffled_rows(np.concatenate(placed), np.concatenate(row_ids), rows, rng)


def _require_keys(documents: int, limits: RowLimits) -> None:
    if not 0 < limits.tokens < 1 << _LENGTH_BITS or documents >= 1 << _INDEX_BITS:
        raise SpecError("packing", expected="rows below 131,072 tokens, fewer than 2^32 documents", found=limits)


def _dimensions(
    tokens: NDArray[np.int32], chunks: NDArray[np.int32], limits: RowLimits, *, joint: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """(size to pack by, in parts of T; the other quantity; its cap per row).

    The scarcer of tokens and chunks is packed by. A `joint` size keeps both limits by itself.
    """
    by_tokens = tokens.sum(dtype=np.int64) * limits.chunks >= chunks.sum(dtype=np.int64) * limits.tokens
    if by_tokens and not joint:
        return tokens, chunks, limits.chunks
    shares = np.maximum(1, -(-chunks.astype(np.int64) * limits.tokens // limits.chunks)).astype(np.int32)
    return (np.maximum(tokens, shares) if joint else shares), tokens, limits.tokens


def _place(
    sizes: NDArray[np.int32], capacity: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """(documents from large to small, the row of each, number of rows)."""
    order = _decreasing(sizes, capacity, rng)
    counts = np.bincount(sizes, minlength=capacity + 1)
    present = np.flatnonzero(counts)[::-1]
    steps, rows = _fill(present.tolist(), counts[present].tolist(), capacity)
    first, blocks, per_row = np.array(steps, dtype=np.int64).reshape(-1, 3).T
    row_ids = np.repeat(first - (np.cumsum(blocks) - blocks), blocks) + np.arange(blocks.sum())
    return order, np.repeat(row_ids, np.repeat(per_row, blocks)), rows


def _decreasing(sizes: NDArray[np.int32], capacity: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Document indices from large to small, in random order among equals.

    Size, random bits and index share one 64-bit key: keys are distinct, so that the fastest sort is also a
    reproducible one.
    """
    index_bits = max(1, len(sizes).bit_length())
    random_bits = 63 - _LENGTH_BITS - index_bits
    keys = rng.integers(0, 1 << random_bits, len(sizes), dtype=np.int64)
    keys |= (capacity - sizes).astype(np.int64) << random_bits
    keys <<= index_bits
    keys |= np.arange(len(sizes))
    keys.sort()
    keys &= (1 << index_bits) - 1
    return keys


def _fill(sizes: list[int], counts: list[int], capacity: int) -> tuple[list[Step], int]:
    """Best fit of `counts[i]` documents of `sizes[i]`, sizes descending, as steps in that order, and the rows used.

    A row that takes one document of a size stays the tightest fit for the next while that still fits, so it takes
    residual // size of them, and so does every other row of that residual.
    """
    ranges: list[list[Range]] = [[] for _ in range(capacity + 1)]  # by residual
    residuals: list[int] = []  # those that have rows, ascending
    steps: list[Step] = []
    made = 0
    for size, total in zip(sizes, counts, strict=True):
        left = total
        while left:
            tightest = bisect_left(residuals, size)
            if tightest < len(residuals):
                residual = residuals[tightest]
                first, rows = ranges[residual].pop()
                if not ranges[residual]:
                    del residuals[tightest]
            else:
                residual, first, rows = capacity, made, max(1, left // (capacity // size))
                made += rows
            taken = min(residual // size, left)
            full = min(rows, left // taken)
            steps.append((first, full, taken))
            left -= full * taken
            _push(ranges, residuals, residual - taken * size, (first, full))
            if full < rows:
                _push(ranges, residuals, residual, (first + full, rows - full))
    return steps, made


def _push(ranges: list[list[Range]], residuals: list[int], residual: int, rows: Range) -> None:
    if not ranges[residual]:
        insort(residuals, residual)
    ranges[residual].append(rows)


def _above_cap(row_of: NDArray[np.int64], amounts: NDArray[np.int32], cap: int, rows: int) -> NDArray[np.bool_] | None:
    """Which placements bring their row's sum of `amounts` above `cap`; None if no row is above."""
    totals = np.bincount(row_of, weights=amounts, minlength=rows)
    if not len(totals) or totals.max() <= cap:
        return None
    suspects = np.flatnonzero(totals[row_of] > cap)
    suspects = suspects[np.argsort(row_of[suspects], kind="stable")]
    running = np.cumsum(amounts[suspects], dtype=np.int64)
    starts = np.flatnonzero(np.diff(row_of[suspects], prepend=-1))
    running -= np.repeat(running[starts] - amounts[suspects[starts]], np.diff(starts, append=len(suspects)))
    late = np.zeros(len(row_of), dtype=np.bool_)
    late[suspects[running > cap]] = True
    return late


def _shuffled_rows(order: NDArray[np.int64], row_of: NDArray[np.int64], rows: int, rng: np.random.Generator) -> RowPlan:
    """The plan with its rows in random order and the documents of each row ascending."""
    place_of = rng.permutation(rows)
    keys = place_of[row_of]
    keys <<= _INDEX_BITS
    keys |= order
    keys.sort()
    keys &= (1 << _INDEX_BITS) - 1
    offsets = np.zeros(rows + 1, dtype=np.int64)
    offsets[place_of + 1] = np.bincount(row_of, minlength=rows)
    return RowPlan(keys, np.cumsum(offsets))
