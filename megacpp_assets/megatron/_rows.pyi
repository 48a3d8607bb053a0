"""Rows of a batch out of mapped files, line by line (native/megatron).

Line l of `out` is row rows[l], which has the tokens starts[row] to starts[row + 1] of the `.bin`: `IndexError` for a
number that no row has. A function that gives an int gives the first line whose row contradicts its files, or -1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def values(
    column: NDArray[Any], starts: NDArray[np.int64], rows: NDArray[np.int64], fill: int, out: NDArray[np.uint32]
) -> int:
    """Write the values of rows, a value per token, into (B, T), and `fill` behind them."""

def runs(
    column: NDArray[Any],
    lengths: NDArray[Any],
    firsts: NDArray[np.int64],
    starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    fill: int,
    out: NDArray[np.uint32],
) -> int:
    """The same of runs of `lengths` + 1 tokens; row r has the runs firsts[r] to firsts[r + 1]."""

def documents(
    ids: NDArray[np.int32],
    valid: NDArray[np.int32],
    bos: int,
    pad: int,
    targets: NDArray[np.int32],
    mask: NDArray[np.bool_],
    numbers: NDArray[np.int32],
    segments: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Write what follows from (B, T) ids, and give where sequences begin; `loader.documents.RowDocuments` says what."""

def slots(
    firsts: NDArray[np.int64],
    starts: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    kinds: NDArray[np.uint8],
    levels: NDArray[np.uint16],
    rows: NDArray[np.int64],
    documents: NDArray[np.int32],
    out: NDArray[np.int32],
) -> int:
    """Write the chunks of rows, firsts[r] to firsts[r + 1], into slots (5, B, C): starts, ends, kinds, levels, and the
    document that each begins in."""

def edges(
    chunks: NDArray[np.int64], firsts: NDArray[np.int64], pairs: NDArray[np.uint16], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int]:
    """(line, from, to) of each edge of rows that have the chunks chunks[r] to chunks[r + 1], end to end, and the line
    whose last edge here is of none of its chunks, or -1."""
