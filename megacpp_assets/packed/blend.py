"""The source files of a mixture: documents of its phase's budget, and of the other document sets that it blends in.

A document that occurs in several sets has the same id in each. The mixture takes it from the first of these sets only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import DocumentSet
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import shards_of
from megacpp_assets.storage.parquet import batches, count_rows

_BATCH_DOCUMENTS = 65_536


def shards_of_budget(artifact: Artifact, budget: DocumentSet, split: str) -> list[Path]:
    """Return the data files of a document set and a split of an enriched artifact, in document order."""
    held = split == VALID_SPLIT
    return [file for file in shards_of(artifact, budget, ".parquet") if (file.name == c.VAL_SHARD) == held]


def shards_of_split(artifact: Artifact, budgets: Sequence[DocumentSet], split: str) -> list[Path]:
    """Return the data files of a split, one document set after the other.

    Validation uses the first set only: the held-out documents are the same in every set.
    """
    taken = budgets if split == TRAIN_SPLIT else budgets[:1]
    return [file for budget in taken for file in shards_of_budget(artifact, budget, split)]


@dataclass(frozen=True, slots=True)
class Origins:
    """The origin of each training document, in the order of the files.

    `budget` (documents,) is the index of its document set among those of the mixture. `again` (documents,) is True if
    an earlier set has the document too.
    """

    budget: NDArray[np.uint8]
    again: NDArray[np.bool_]


def origins(artifact: Artifact, budgets: Sequence[DocumentSet]) -> Origins:
    """Return the origins of the training documents of an enriched artifact.

    Ids are read only if there are several sets.
    """
    files = [shards_of_budget(artifact, budget, TRAIN_SPLIT) for budget in budgets]
    counts = [sum(map(count_rows, paths)) for paths in files]
    budget = np.repeat(np.arange(len(budgets), dtype=np.uint8), counts)
    if len(budgets) == 1:
        return Origins(budget, np.zeros(len(budget), dtype=np.bool_))
    seen, again = pa.array([], pa.string()), []
    for paths in files:
        ids = _ids(paths)
        again.append(pc.is_in(ids, value_set=seen).to_numpy(zero_copy_only=False))
        seen = pa.concat_arrays([seen, ids])
    return Origins(budget, np.concatenate(again).astype(np.bool_))


def _ids(paths: Sequence[Path]) -> pa.StringArray:
    parts = (batch.column(c.DOC_ID) for path in paths for batch in batches(path, _BATCH_DOCUMENTS, [c.DOC_ID]))
    return pa.concat_arrays([pa.array([], pa.string()), *parts])
