"""Entry points of the packing scheduler: a global batch of sequences comes in, this rank's microbatches come out.

Every rank calls `wrap_data_iterator` once per global batch, and `get_batch_on_this_rank_for_sequence_packing` once per
microbatch with the iterator that it returned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from megacpp_assets.contract.errors import MegacppError, SpecError
from megacpp_assets.loader.schedule.data_schedule_utils import (
    Batches,
    PackedSample,
    broadcast_scalars,
    broadcast_to_pp_group,
    build_packed_microbatches,
    create_data_iterator,
    get_batch_and_global_seqlens,
    global_table_rows,
    reroute_samples_to_dcp_ranks,
)
from megacpp_assets.loader.schedule.groups import Limit, groups_in_order
from megacpp_assets.loader.schedule.process_groups import ProcessGroups, answered, raise_everywhere, require_same

DP_BALANCED: Final = "dp_balanced"


@dataclass(frozen=True, slots=True)
class PackingConfig:
    """Settings of the scheduler, named as in Megatron.

    `max_seqlen_per_dp_cp_rank` is the most tokens of a microbatch on each rank. If
    `virtual_pipeline_model_parallel_size` is above 1, the number of microbatches is a multiple of
    `microbatch_group_size_per_vp_stage`. `max_table_rows` has the most rows of a table in a microbatch, by its name:
    the slots that a network has for chunks are as fixed as its tokens.
    """

    max_seqlen_per_dp_cp_rank: int
    sequence_packing_scheduler: str = DP_BALANCED
    virtual_pipeline_model_parallel_size: int = 1
    microbatch_group_size_per_vp_stage: int = 1
    max_table_rows: Mapping[str, int] = field(default_factory=dict)


class ScheduledBatch(NamedTuple):
    """The result of `wrap_data_iterator`. The sums are over padded lengths of the global batch, to compute FLOPs."""

    data_iterator: Iterator[PackedSample] | list[Iterator[PackedSample] | None] | None
    num_microbatches: int
    seqlen_sum: float
    seqlen_squared_sum: float


class BasePackingScheduler(ABC):
    """Schedules global batches over the ranks of `groups`. All ranks must call `run` at the same time."""

    def __init__(self, config: PackingConfig, groups: ProcessGroups) -> None:
        self.config = config
        self.groups = groups

    @abstractmethod
    def get_groups_and_subsamples(
        self, seqlens: Sequence[int], table_rows: Mapping[str, Sequence[int]]
    ) -> list[list[range]]:
        """Return the numbers of the sequences of each microbatch and rank of `dp`. Pure, so equal on every rank.

        `table_rows` has each sequence's rows of the tables that `max_table_rows` names.
        """

    def run(self, data_iterator: Batches | None, num_microbatches: int) -> ScheduledBatch:
        """Fetch, schedule, reroute, pack and broadcast a global batch. Raises like `wrap_data_iterator`."""
        groups = self.groups
        require_same((self.config, num_microbatches), "packing settings", groups.everyone)
        limited = self.config.max_table_rows
        own, by_rank = get_batch_and_global_seqlens(data_iterator, num_microbatches, groups, limited)
        seqlens = [length for each in by_rank for length in each]
        schedule = self._scheduled(seqlens, global_table_rows(own, limited, groups))
        samples = None
        if groups.reads_data:
            dp_rank_of = [rank for step in schedule for rank, numbers in enumerate(step) for _ in numbers]
            arrived = reroute_samples_to_dcp_ranks(own, by_rank, dp_rank_of, groups)
            mine = [[arrived[n] for n in step[groups.dp.rank()]] for step in schedule]
            samples = build_packed_microbatches(mine)
        # Only the first rank of `tp` needs the microbatches now; the others receive each one when it is trained on.
        samples = broadcast_to_pp_group(samples, groups) if groups.tp.rank() == 0 else []
        sums = (len(samples), sum(seqlens), sum(length**2 for length in seqlens))
        count, total, squared = broadcast_scalars(broadcast_scalars(sums, groups.pp), groups.tp)
        stages = self.config.virtual_pipeline_model_parallel_size
        return ScheduledBatch(create_data_iterator(samples, groups, stages), int(count), total, squared)

    def _scheduled(self, seqlens: Sequence[int], table_rows: Mapping[str, Sequence[int]]) -> list[list[range]]:
        """Return the schedule, or [] on ranks that do not read data. An error of one rank is raised on all ranks."""
        schedule: list[list[range]] = []
        error: MegacppError | None = None
        if self.groups.reads_data:
            try:
                schedule = self.get_groups_and_subsamples(seqlens, table_rows)
            except MegacppError as found:
                error = found
        raise_everywhere(error, self.groups.everyone)
        return schedule


class DpBalancedScheduler(BasePackingScheduler):
    """Fills microbatches with sequences in their original order up to `max_seqlen_per_dp_cp_rank` x cp_size tokens.

    Rank r of microbatch m has the sequences before those of rank r + 1 and of microbatch m + 1. The number of
    microbatches is a multiple of the size of `dp`, and with virtual stages of their group size.
    """

    def get_groups_and_subsamples(
        self, seqlens: Sequence[int], table_rows: Mapping[str, Sequence[int]]
    ) -> list[list[range]]:
        """Return the schedule; see `BasePackingScheduler`. Raises like `groups_in_order`."""
        config, ranks = self.config, self.groups.dp.size()
        has_virtual_stages = config.virtual_pipeline_model_parallel_size > 1
        multiple = ranks * (config.microbatch_group_size_per_vp_stage if has_virtual_stages else 1)
        capacity = config.max_seqlen_per_dp_cp_rank * self.groups.cp.size()
        limits = [Limit(f"rows of {name}", rows, config.max_table_rows[name]) for name, rows in table_rows.items()]
        packed = groups_in_order(seqlens, capacity=capacity, multiple=multiple, limits=limits)
        return [packed[first : first + ranks] for first in range(0, len(packed), ranks)]


scheduler_map: Final[Mapping[str, type[BasePackingScheduler]]] = {DP_BALANCED: DpBalancedScheduler}
"""Schedulers by name, which is a value of the recipe's `training.scheduler`."""


def wrap_data_iterator(
    original_data_iterator: Batches | None, config: PackingConfig, num_microbatches: int, groups: ProcessGroups
) -> ScheduledBatch:
    """Return the packed microbatches of a global batch: the next `num_microbatches` items of all ranks.

    Every error is raised on every rank.

    Raises:
        SpecError: the scheduler is unknown, ranks have different settings, an iterator ended, or the batch has too few
            sequences for the ranks.
        PackOverflow: a sequence is longer than a microbatch, or has more rows of a table.
        SchemaViolation: a sequence is malformed, or lacks a table of `max_table_rows`.
        TrainingFailed: a rank does not answer within the groups' timeout.
    """
    scheduler = scheduler_map.get(config.sequence_packing_scheduler)
    if scheduler is None:
        found = config.sequence_packing_scheduler
        raise SpecError("sequence_packing_scheduler", expected=" or ".join(scheduler_map), found=found)
    with answered("packing scheduler", groups.everyone):
        return scheduler(config, groups).run(original_data_iterator, num_microbatches)
