"""Which documents of a split enter a mixture, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.packed.blend import Origins
from megacpp_assets.packed.mixture import repetitions
from megacpp_assets.packed.spool import Spool

_NAME_BATCH = 65_536


@dataclass(frozen=True, slots=True)
class Apart:
    """Of each document of a split: its budget, and whether it stays out, as one that an earlier budget has too, as a
    `near` copy of a held-out one, or as one that an earlier repository has and the recipe leaves out (`twice`)."""

    origins: Origins
    near: NDArray[np.bool_]
    twice: NDArray[np.bool_]

    @staticmethod
    def nothing(documents: int) -> Apart:
        """All of the first budget, and none that stays out."""
        none = np.zeros(documents, dtype=np.bool_)
        return Apart(Origins(np.zeros(documents, dtype=np.uint8), none), none, none)

    @property
    def out(self) -> NDArray[np.bool_]:
        """The documents that stay out."""
        return self.origins.again | self.near | self.twice


def times_taken(
    spool: Spool, enters: NDArray[np.bool_], budget: NDArray[np.uint8], weights: Sequence[Sequence[float]], seed: int
) -> NDArray[np.int64]:
    """How often each document is taken, shape (documents,): `weights` by source and place of the budget.

    One that does not enter is never taken; the others of its source and budget make up for it.
    """
    times = np.zeros(spool.documents, dtype=np.int64)
    for source, of_budgets in enumerate(weights):
        first, end = int(spool.boundaries[source]), int(spool.boundaries[source + 1])
        for number, weight in enumerate(of_budgets):
            documents = first + np.flatnonzero(enters[first:end] & (budget[first:end] == number))
            times[documents] = repetitions(_names(spool, documents), len(documents), weight, seed)
    return times


def _names(spool: Spool, documents: NDArray[np.int64]) -> Iterator[str]:
    for start in range(0, len(documents), _NAME_BATCH):
        yield from spool.strings(c.DOC_ID, documents[start : start + _NAME_BATCH]).to_pylist()
