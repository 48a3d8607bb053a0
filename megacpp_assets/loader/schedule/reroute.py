"""Sequences on their way between ranks: lengths are told to all, then each goes to the rank that is to train on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, distributed

Sample = Mapping[str, Tensor]
"""A sequence: 1-D tensors of one length, such as `tokens` and `labels`, of the same keys and types on every rank."""


def lengths_of_all(own: Sequence[int], group: distributed.ProcessGroup | None = None) -> list[list[int]]:
    """The lengths of the sequences that each rank holds, by rank."""
    world = distributed.get_world_size(group)
    counts = [torch.zeros(1, dtype=torch.int64) for _ in range(world)]
    distributed.all_gather(counts, torch.tensor([len(own)]), group=group)
    most = max(int(count) for count in counts)
    padded = torch.zeros(most, dtype=torch.int64)
    padded[: len(own)] = torch.tensor(own, dtype=torch.int64)
    found = [torch.zeros(most, dtype=torch.int64) for _ in range(world)]
    distributed.all_gather(found, padded, group=group)
    return [values[: int(count)].tolist() for values, count in zip(found, counts, strict=True)]


def reroute(
    own: Sequence[Sample],
    lengths: Sequence[Sequence[int]],
    rank_of: Sequence[int],
    group: distributed.ProcessGroup | None = None,
) -> dict[int, dict[str, Tensor]]:
    """The sequences that this rank is to have, by number: rank 0 holds sequences 0, 1, … first, then rank 1, and so on.

    `lengths` are those of all ranks, each of which holds a sequence; `rank_of[n]` is where sequence n goes. One
    all-to-all for each key.
    """
    rank, world = distributed.get_rank(group), distributed.get_world_size(group)
    firsts = [sum(map(len, lengths[:other])) for other in range(world)]
    sent = [[n for n in _numbers(firsts, lengths, rank) if rank_of[n] == other] for other in range(world)]
    taken = [[n for n in _numbers(firsts, lengths, other) if rank_of[n] == rank] for other in range(world)]
    length_of = [length for each in lengths for length in each]
    sizes = [[sum(length_of[n] for n in numbers) for numbers in side] for side in (sent, taken)]
    received: dict[int, dict[str, Tensor]] = {n: {} for numbers in taken for n in numbers}
    for key in sorted(own[0]):
        parts = [own[n - firsts[rank]][key] for numbers in sent for n in numbers]
        buffer = torch.empty(sum(sizes[1]), dtype=own[0][key].dtype)
        distributed.all_to_all_single(buffer, torch.cat(parts), sizes[1], sizes[0], group=group)
        order = [n for numbers in taken for n in numbers]
        for n, values in zip(order, torch.split(buffer, [length_of[n] for n in order]), strict=True):
            received[n][key] = values
    return received


def _numbers(firsts: Sequence[int], lengths: Sequence[Sequence[int]], rank: int) -> range:
    return range(firsts[rank], firsts[rank] + len(lengths[rank]))
