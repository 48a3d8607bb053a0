"""In which order rows are trained on: a pure function of (seed, epoch, step), so that resuming needs only the step."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


@lru_cache(maxsize=2)
def epoch_order(rows: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """A permutation of `rows` row numbers for one `epoch` (from 0), the same on every machine.

    Read-only: the last two are kept, since asking for one costs as much as all its rows.
    """
    digest = hashlib.sha256(f"megacpp-rows:{seed}:{epoch}".encode()).digest()
    order = np.random.default_rng(int.from_bytes(digest, "little")).permutation(rows).astype(np.int64)
    order.flags.writeable = False
    return order


def rows_of_step(rows: int, batch_rows: int, *, seed: int, step: int) -> NDArray[np.int64]:
    """Row numbers of the global batch of `step` (from 0), shape (batch_rows,).

    Epochs follow one another without a gap: a batch may hold the end of one and the beginning of the next, and each
    epoch shows every row exactly once.
    """
    samples = np.arange(step * batch_rows, (step + 1) * batch_rows, dtype=np.int64)
    epochs = samples // rows
    chosen = np.empty(batch_rows, dtype=np.int64)
    for epoch in np.unique(epochs):
        here = epochs == epoch
        chosen[here] = epoch_order(rows, seed, int(epoch))[samples[here] % rows]
    return chosen
