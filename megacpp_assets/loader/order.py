"""The order of rows in training: a pure function of (seed, epoch, step), so resuming needs only the step."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


@lru_cache(maxsize=2)
def epoch_order(rows: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """Return a permutation of `rows` row numbers for one `epoch` (from 0), the same on every machine.

    The result is read-only, because the last two are cached: each call would otherwise shuffle all rows.
    """
    digest = hashlib.sha256(f"megacpp-rows:{seed}:{epoch}".encode()).digest()
    order = np.random.default_rng(int.from_bytes(digest, "little")).permutation(rows).astype(np.int64)
    order.flags.writeable = False
    return order


def rows_of_step(rows: int, batch_rows: int, *, seed: int, step: int) -> NDArray[np.int64]:
    """Return the row numbers of the global batch of `step` (from 0), shape (batch_rows,).

    Each epoch has every row exactly once. Epochs follow each other without a gap, so a batch may contain the end of one
    epoch and the beginning of the next.
    """
    samples = np.arange(step * batch_rows, (step + 1) * batch_rows, dtype=np.int64)
    epochs = samples // rows
    chosen = np.empty(batch_rows, dtype=np.int64)
    for epoch in np.unique(epochs):
        is_of_epoch = epochs == epoch
        chosen[is_of_epoch] = epoch_order(rows, seed, int(epoch))[samples[is_of_epoch] % rows]
    return chosen
