"""The batches of a step by the packing scheduler: documents move between ranks, so that each has as much to compute."""

from __future__ import annotations

import numpy as np

from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, RowBatch
from megacpp_assets.loader.schedule.data_schedule import PackingConfig, wrap_data_iterator
from megacpp_assets.loader.schedule.packed_batch import get_batch_on_this_rank_for_sequence_packing
from megacpp_assets.loader.schedule.process_groups import create_process_groups
from megacpp_assets.loader.schedule.row_sequences import (
    channels_of,
    limits_of,
    row_of,
    sequences_of,
    tables_of,
)
from megacpp_assets.training.processes.ranks import Ranks


class ScheduledBatches:
    """Each rank reads consecutive rows of the global batch, in `accumulate` items. The scheduler packs their documents,
    in order, into microbatches of at most T tokens, as many on every rank. Chunks and platforms travel with their
    documents, if the rows have them."""

    def __init__(self, rows: PackedRows, recipe: TrainingRecipe, ranks: Ranks) -> None:
        self._rows, self._recipe, self._ranks = rows, recipe, ranks
        self._config = PackingConfig(rows.row_tokens, recipe.scheduler, max_table_rows=limits_of(rows))
        self._channels, self._tables = channels_of(rows), tables_of(rows)
        # Batches are prepared on the host, so the groups are of gloo where the model's are of NCCL.
        self._groups = create_process_groups(dp=ranks.world, backend="gloo")

    def of(self, step: int) -> list[RowBatch]:
        """See `StepBatches`. Raises like `wrap_data_iterator`, on every rank."""
        whole = rows_of_step(len(self._rows), self._recipe.batch_rows, seed=self._recipe.seed, step=step)
        numbers = np.split(whole, self._ranks.world)[self._ranks.rank]
        items = (sequences_of(self._rows.batch(part)) for part in np.split(numbers, self._recipe.accumulate))
        wrapped = wrap_data_iterator(items, self._config, self._recipe.accumulate, self._groups)
        assert not isinstance(wrapped.data_iterator, list)
        microbatches = (
            get_batch_on_this_rank_for_sequence_packing(
                wrapped.data_iterator, self._groups, channels=self._channels, tables=self._tables
            )
            for _ in range(wrapped.num_microbatches)
        )
        return [row_of(microbatch, self._rows.row_tokens) for microbatch in microbatches]
