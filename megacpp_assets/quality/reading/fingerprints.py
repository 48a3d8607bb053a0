"""64-bit fingerprints of documents over several columns, to compare a document with its copy in the next stage.

Flat columns and the ranges of documents come in; one number per document comes out. The fingerprint depends on every
value, on its column and on its position within the document, but not on the position of the document in the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from megacpp_assets.quality.reading import _fingerprints


def fingerprints(
    columns: Sequence[NDArray[Any]], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return one fingerprint per document. Document i has the values [starts[i], ends[i]) of each of `columns`.

    At each position the values of all columns are multiplied by an odd constant of their column, summed and mixed. The
    fingerprint is the sum over positions, each weighted with a power of another odd constant, modulo 2**64.

    Args:
        columns: one array of integers or booleans per column, shape (values,).
        starts: first position of each document, shape (documents,).
        ends: position after each document's last value, shape (documents,).

    Raises:
        ValueError: a document's range is outside a column, or a column does not hold integers.
    """
    flat = [np.ascontiguousarray(values) for values in columns]
    flat = [values.view(np.uint8) if values.dtype == np.bool_ else values for values in flat]
    return _fingerprints.fingerprints(flat, np.ascontiguousarray(starts), np.ascontiguousarray(ends))


def text_keys(texts: pa.Array) -> NDArray[np.uint64]:
    """Return a 64-bit key for each string; a missing string has the key of the empty one."""
    encoded = pc.cast(texts.fill_null(""), pa.large_binary())
    offsets = np.frombuffer(encoded.buffers()[1], np.int64)[encoded.offset : encoded.offset + len(encoded) + 1]
    data = encoded.buffers()[2]
    values = np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
    return fingerprints([values], offsets[:-1], offsets[1:])
