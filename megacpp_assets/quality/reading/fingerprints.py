"""A 64-bit fingerprint of each document over several columns, to compare it with itself one stage later.

Flat values and the places of documents among them come in, one number per document goes out. It depends on every value,
its column and its place in the document, and not on where the document lies.
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
    """One fingerprint per document: it has the values [starts[i], ends[i]) of each of `columns`, which are integers.

    Values of one place, each times an odd number of its column, are summed and mixed; the fingerprint is the sum of all
    places of the document, each times that power of another odd number, modulo 2**64.

    Raises:
        ValueError: a document lies outside of a column, or a column has other values than integers.
    """
    flat = [np.ascontiguousarray(values) for values in columns]
    flat = [values.view(np.uint8) if values.dtype == np.bool_ else values for values in flat]
    return _fingerprints.fingerprints(flat, np.ascontiguousarray(starts), np.ascontiguousarray(ends))


def text_keys(texts: pa.Array) -> NDArray[np.uint64]:
    """A 64-bit key for each string."""
    encoded = pc.cast(texts.fill_null(""), pa.large_binary())
    offsets = np.frombuffer(encoded.buffers()[1], np.int64)[encoded.offset : encoded.offset + len(encoded) + 1]
    data = encoded.buffers()[2]
    values = np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
    return fingerprints([values], offsets[:-1], offsets[1:])
