"""Copies rows of mapped files into a batch (native/megatron).

Line l of `out` receives row rows[l], which has the tokens [starts[row], starts[row + 1]) of the `.bin`. Raises
`IndexError` for a row number that does not exist. A function that returns an int returns the first line whose row does
not match its files, or -1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def values(
    column: NDArray[Any], starts: NDArray[np.int64], rows: NDArray[np.int64], fill: int, out: NDArray[np.uint32]
) -> int:
    """Write the values of rows, one value per token, into `out` (B, T), and fill the rest of each line with `fill`."""

def runs(
    column: NDArray[Any],
    lengths: NDArray[Any],
    firsts: NDArray[np.int64],
    starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    fill: int,
    out: NDArray[np.uint32],
) -> int:
    """Like `values`, for runs: row r has the runs [firsts[r], firsts[r + 1]), each of lengths + 1 tokens."""

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
    """Derive document columns from ids (B, T) and return the starts of sequences; see `loader.documents`."""

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
    """Write the chunks [firsts[r], firsts[r + 1]) of each row r into `out` (5, B, C).

    The five parts are starts, ends, kinds, levels, and the document in which each chunk begins.
    """

def edges(
    chunks: NDArray[np.int64], firsts: NDArray[np.int64], pairs: NDArray[np.uint16], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int]:
    """((line, from, to) of each edge of the rows, line of an edge that is not between chunks of its row, or -1).

    Row r has the chunks [chunks[r], chunks[r + 1]).
    """
