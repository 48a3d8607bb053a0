"""How often each document of each repository enters a mixture; a pure function of document ids and weights.

The base model takes every document once. A specialist takes some repositories more or less often, by its weights;
validation documents are always taken exactly once, so that specialists are compared on the same rows (seed 002,
CONTRACTS.md 14).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import TRAIN_SPLIT

_HASH_BITS = 64


def repository_weight(repo: str, weights: Mapping[str, float], *, split: str) -> float:
    """Times that a mixture takes the documents of `repo`: once where `weights` do not name it."""
    return weights.get(repo, 1.0) if split == TRAIN_SPLIT else 1.0


def repetitions(doc_ids: Iterable[str], count: int, weight: float) -> NDArray[np.int64]:
    """How often each of `count` documents is taken, so that the mean over many is `weight`.

    The whole part of the weight goes to every document; its fraction goes to the documents whose hash falls below it,
    so the choice depends on neither order nor company. `doc_ids` is read only if there is a fraction. `SpecError` for a
    weight that is not a positive finite number.
    """
    if not (math.isfinite(weight) and weight > 0):
        raise SpecError("mixture weight", expected="a positive finite number", found=weight)
    whole = math.floor(weight)
    times = np.full(count, whole, dtype=np.int64)
    if weight > whole:
        threshold = round((weight - whole) * 2**_HASH_BITS)
        times += np.fromiter((_hash(doc_id) < threshold for doc_id in doc_ids), dtype=np.bool_, count=count)
    return times


def _hash(doc_id: str) -> int:
    return int.from_bytes(hashlib.sha256(doc_id.encode()).digest()[: _HASH_BITS // 8], "big")
