"""Which documents of a split a mixture takes, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.packed.blend import Origins
from megacpp_assets.packed.mixture import repetitions
from megacpp_assets.packed.spools.spool import Spool

_NAME_BATCH = 65_536


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The document set of each document of a split, and the reasons for which documents are left out.

    A document is left out if an earlier document set has it too (`origins.again`), if it is a near-duplicate of a
    held-out document (`near`), if an earlier repository has a duplicate and the recipe leaves it out (`twice`), or if
    that holds for its definitions (`copied`). All arrays have shape (documents,).
    """

    origins: Origins
    near: NDArray[np.bool_]
    twice: NDArray[np.bool_]
    copied: NDArray[np.bool_]

    @staticmethod
    def none(documents: int) -> Exclusions:
        """Nothing is left out, and all documents are of the first document set."""
        no_flags = np.zeros(documents, dtype=np.bool_)
        return Exclusions(Origins(np.zeros(documents, dtype=np.uint8), no_flags), no_flags, no_flags, no_flags)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Mask of the documents that are left out for any reason."""
        return self.origins.again | self.near | self.twice | self.copied


def times_taken(
    spool: Spool,
    is_eligible: NDArray[np.bool_],
    budget: NDArray[np.uint8],
    weights: Sequence[Sequence[float]],
    seed: int,
) -> NDArray[np.int64]:
    """Return how often each document is taken, shape (documents,).

    Args:
        spool: the documents.
        is_eligible: False for a document that is never taken, shape (documents,). The number of entries depends on the
            eligible documents alone.
        budget: index of each document's set, shape (documents,).
        weights: average number of times by source and set.
        seed: decides which documents a fraction of a weight goes to.
    """
    times = np.zeros(spool.documents, dtype=np.int64)
    for source, source_weights in enumerate(weights):
        first, end = int(spool.boundaries[source]), int(spool.boundaries[source + 1])
        for number, weight in enumerate(source_weights):
            documents = first + np.flatnonzero(is_eligible[first:end] & (budget[first:end] == number))
            times[documents] = repetitions(_names(spool, documents), len(documents), weight, seed)
    return times


def _names(spool: Spool, documents: NDArray[np.int64]) -> Iterator[str]:
    for start in range(0, len(documents), _NAME_BATCH):
        yield from spool.strings(c.DOC_ID, documents[start : start + _NAME_BATCH]).to_pylist()
