"""How often a mixture takes each document of each repository: a pure function of document ids, weights and seed.

The base model takes every document once. A specialist takes some repositories more or less often, by its weights;
validation documents are always taken exactly once, so that specialists are compared on the same rows
(docs/contracts.md).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import TRAIN_SPLIT

_DRAW_BYTES = 8


def repository_weight(repo: str, weights: Mapping[str, float], *, split: str) -> float:
    """Return how often a mixture takes each document of `repo` on average: 1 if not in `weights`, always 1 in
    validation.
    """
    return weights.get(repo, 1.0) if split == TRAIN_SPLIT else 1.0


def entries(count: int, weight: float) -> int:
    """Return how many entries a repository of `count` documents has in a mixture: `weight * count`, rounded half up."""
    return math.floor(weight * count + 0.5)


def repetitions(doc_ids: Iterable[str], count: int, weight: float, seed: int) -> NDArray[np.int64]:
    """Return how often each of `count` documents is taken, shape (count,); the sum is `entries(count, weight)`.

    Each document is taken floor(weight) times. The entries that remain go to the documents with the smallest hash of
    `seed` and id, so the order of the documents does not matter. `doc_ids` is read only if entries remain. Raises
    `SpecError` unless the weight is a positive finite number.
    """
    if not (math.isfinite(weight) and weight > 0):
        raise SpecError("mixture weight", expected="a positive finite number", found=weight)
    whole = math.floor(weight)
    times = np.full(count, whole, dtype=np.int64)
    left = entries(count, weight) - whole * count
    if left:
        draws = np.fromiter((_draw(seed, doc_id) for doc_id in doc_ids), dtype=np.uint64, count=count)
        times[np.argsort(draws, kind="stable")[:left]] += 1
    return times


def _draw(seed: int, doc_id: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{doc_id}".encode()).digest()[:_DRAW_BYTES], "big")
