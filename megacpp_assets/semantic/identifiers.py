"""Identifier tokens of a file and 64-bit hashes of their spellings, so that names compare as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import _visitor


def identifiers(code: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and ends, in bytes, of the maximal runs of word characters that begin with no digit."""
    return _visitor.words(code)


def span_hashes(text: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Hash of each byte range of `text`; equal bytes give equal hashes. An empty range gives 0."""
    return _visitor.span_hashes(text, starts, ends)


def name_hashes(spellings: Sequence[str]) -> NDArray[np.uint64]:
    """Hashes of `spellings` that match the identifier token of the entity: no template arguments, no tilde."""
    plain = [_plain(name) if "<" in name or "~" in name else name for name in spellings]
    joined = "".join(plain)
    sizes = map(len, plain) if joined.isascii() else (len(name.encode()) for name in plain)
    ends = np.cumsum(np.fromiter(sizes, dtype=np.int64, count=len(plain)))
    starts = np.concatenate((np.zeros(min(1, len(ends)), dtype=np.int64), ends[:-1]))
    return span_hashes(joined.encode(), starts, ends)


def _plain(spelling: str) -> str:
    return spelling if spelling.startswith("operator") else spelling.split("<", 1)[0].lstrip("~")
