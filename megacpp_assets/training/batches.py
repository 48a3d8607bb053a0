"""The batches of a step on this rank, from the row numbers of the step: its share of rows, or scheduled documents.

Both are pure functions of the step, so a resumed run reads what an uninterrupted one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.recipe.training import NO_SCHEDULER, TrainingRecipe
from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, RowBatch
from megacpp_assets.training.processes.ranks import Ranks


class StepBatches(Protocol):
    """Reads the batches of a step. The batches of all ranks together have each token of the global batch once."""

    def of(self, step: int) -> list[RowBatch]:
        """Return this rank's batches of `step` (from 0), as many on every rank."""


def step_batches(rows: PackedRows, recipe: TrainingRecipe, ranks: Ranks) -> StepBatches:
    """Return the source that `recipe` names. Every rank must call it."""
    if recipe.scheduler == NO_SCHEDULER:
        return RowBatches(rows, recipe, ranks)
    from megacpp_assets.training.scheduled import ScheduledBatches  # noqa: PLC0415 - loads torch.distributed's groups

    return ScheduledBatches(rows, recipe, ranks)


@dataclass(frozen=True, slots=True)
class RowBatches:
    """Every world-th row of the global batch, in `accumulate` batches of equal size."""

    rows: PackedRows
    recipe: TrainingRecipe
    ranks: Ranks

    def of(self, step: int) -> list[RowBatch]:
        """See `StepBatches`."""
        numbers = global_rows(self.rows, self.recipe, step)[self.ranks.rank :: self.ranks.world]
        return [self.rows.batch(part) for part in np.split(numbers, self.recipe.accumulate)]


def global_rows(rows: PackedRows, recipe: TrainingRecipe, step: int) -> NDArray[np.int64]:
    """Return the row numbers of the global batch of `step`, (batch_rows,)."""
    return rows_of_step(len(rows), recipe.batch_rows, seed=recipe.seed, step=step)
