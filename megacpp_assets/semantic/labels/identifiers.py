"""Identifier tokens of a file and 64-bit hashes of their spellings, so that names compare as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import _visitor


def identifiers(code: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and ends, in bytes, of the maximal runs of word characters that do not begin with a digit."""
    return _visitor.words(code)


def span_hashes(text: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hash of each byte range of `text`. Equal bytes give equal hashes. An empty range gives 0."""
    return _visitor.span_hashes(text, starts, ends)


def name_hashes(spellings: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return hashes of `spellings` without template arguments and tilde, and which of them are operators.

    A hash equals that of the entity's identifier token.
    """
    hashes, operators = _visitor.name_hashes(spellings)
    return hashes, operators.view(np.bool_)
