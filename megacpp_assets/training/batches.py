"""The batches of a step on this rank: its share of rows, scheduled documents, or samples of megatron-core.

All are pure functions of the step, so a resumed run reads what an uninterrupted one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from megacpp_assets.contract.recipe.training import MEGATRON_READER, NO_SCHEDULER, TrainingRecipe
from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, RowBatch
from megacpp_assets.training.processes.ranks import Ranks


class StepBatches(Protocol):
    """Reads the batches of a step. The batches of all ranks together have each token of the global batch once."""

    def of(self, step: int) -> list[RowBatch]:
        """Return this rank's batches of `step` (from 0), as many on every rank."""


@dataclass(frozen=True, slots=True)
class TrainingFiles:
    """The data of a training: the rows, the prefix of their .bin/.idx pair, and the folder of their tokenizer.

    `cache` is a folder that all ranks of a node write to.
    """

    rows: PackedRows
    prefix: Path
    tokenizer: Path
    vocabulary_size: int
    cache: Path


def step_batches(files: TrainingFiles, recipe: TrainingRecipe, ranks: Ranks) -> StepBatches:
    """Return the source that `recipe` names. Every rank must call it. `EnvironmentLacks` if its library is missing."""
    rows = files.rows
    if recipe.reader == MEGATRON_READER:
        from megacpp_assets.training.megatron.batches import MegatronBatches, MegatronFiles  # noqa: PLC0415 - optional

        pair = MegatronFiles([(1.0, files.prefix)], files.tokenizer, files.vocabulary_size, files.cache)
        return MegatronBatches(pair, rows.row_tokens, recipe, ranks)
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
        numbers = rows_of_step(len(self.rows), self.recipe.batch_rows, seed=self.recipe.seed, step=step)
        numbers = numbers[self.ranks.rank :: self.ranks.world]
        return [self.rows.batch(part) for part in np.split(numbers, self.recipe.accumulate)]
