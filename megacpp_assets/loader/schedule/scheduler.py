"""The packing scheduler: a global batch of sequences in, packed microbatches with `cu_seqlens` out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, distributed

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.loader.schedule.groups import groups_in_order
from megacpp_assets.loader.schedule.reroute import Sample, lengths_of_all, reroute


@dataclass(frozen=True, slots=True)
class Packed:
    """A microbatch: `values` are sequences end to end; `cu_seqlens`, (n + 1,) int32, says where each begins and ends.

    `numbers` are the sequences' numbers in the global batch, ascending; `max_seqlen` is the length of the longest.
    """

    values: Mapping[str, Tensor]
    cu_seqlens: Tensor
    max_seqlen: int
    numbers: tuple[int, ...]


class BasePackingScheduler(ABC):
    """Schedules a global batch over the ranks of `group`, whose every member calls `run` at the same time."""

    def __init__(self, group: distributed.ProcessGroup | None = None) -> None:
        self.group = group

    @abstractmethod
    def get_groups_and_subsamples(self, lengths: Sequence[int]) -> list[list[range]]:
        """By microbatch and rank, the sequences of the global batch. Pure: the same on every rank."""

    def run(self, batches: Iterator[Sequence[Sample]], microbatches: int) -> list[Packed]:
        """This rank's packed microbatches of the global batch that the next `microbatches` of every rank are.

        Raises `SchemaViolation` for a sequence whose tensors differ in length, and as the groups do.
        """
        own = [sample for _ in range(microbatches) for sample in next(batches)]
        lengths = lengths_of_all([_length(number, sample) for number, sample in enumerate(own)], self.group)
        schedule = self.get_groups_and_subsamples([length for each in lengths for length in each])
        rank_of = {n: rank for step in schedule for rank, numbers in enumerate(step) for n in numbers}
        mine = reroute(own, lengths, [rank_of[n] for n in range(len(rank_of))], self.group)
        rank = distributed.get_rank(self.group)
        return [_packed(mine, step[rank]) for step in schedule]


class DpBalancedScheduler(BasePackingScheduler):
    """Fills microbatches with sequences in their original order, as many as ranks and virtual stages need.

    Rank r of microbatch m has the sequences before those of rank r + 1 and of microbatch m + 1. A microbatch holds
    `tokens` times `context_ranks` tokens at most; their number a rank is a multiple of `stage_microbatches`.
    """

    def __init__(
        self,
        *,
        tokens: int,
        context_ranks: int = 1,
        stage_microbatches: int = 1,
        group: distributed.ProcessGroup | None = None,
    ) -> None:
        super().__init__(group)
        self._capacity = tokens * context_ranks
        self._stage_microbatches = stage_microbatches

    def get_groups_and_subsamples(self, lengths: Sequence[int]) -> list[list[range]]:
        """See `BasePackingScheduler`; raises as `groups_in_order`."""
        world = distributed.get_world_size(self.group)
        groups = groups_in_order(lengths, capacity=self._capacity, multiple=world * self._stage_microbatches)
        return [groups[first : first + world] for first in range(0, len(groups), world)]


def wrap_data_iterator(
    batches: Iterator[Sequence[Sample]], scheduler: BasePackingScheduler, microbatches: int
) -> tuple[Iterator[Packed], int]:
    """The packed microbatches of the next global batch, and how many they are; called once per global batch."""
    packed = scheduler.run(batches, microbatches)
    return iter(packed), len(packed)


def _length(number: int, sample: Sample) -> int:
    found = {name: tuple(values.shape) for name, values in sample.items()}
    if len(set(found.values())) != 1 or len(next(iter(found.values()))) != 1:
        raise SchemaViolation(f"sequence {number} of a rank", expected="1-D tensors of one length", found=found)
    return int(next(iter(found.values()))[0])


def _packed(samples: Mapping[int, Sample], numbers: range) -> Packed:
    chosen = [samples[n] for n in numbers]
    lengths = [len(next(iter(sample.values()))) for sample in chosen]
    values = {name: torch.cat([sample[name] for sample in chosen]) for name in chosen[0]}
    cu_seqlens = torch.zeros(len(chosen) + 1, dtype=torch.int32)
    cu_seqlens[1:] = torch.tensor(lengths).cumsum(0)
    return Packed(values, cu_seqlens, max(lengths), tuple(numbers))
