"""Tables of sequences: int32 rows that belong to a sequence and not to its tokens, such as its chunks and their edges.

A table is a 2-D tensor of a sequence. Sequences have any number of rows, and all tables of one name as many columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

import torch
from torch import Tensor, distributed
from torch.nn.functional import pad

from megacpp_assets.loader.schedule.process_groups import Group, device_of

_BOUNDARIES: Final = ".cu_rows"


class PackedTable(NamedTuple):
    """The tables of a microbatch's sequences: sequence i has the rows [cu_rows[i], cu_rows[i + 1]) of `values`.

    `values` (rows, columns) and `cu_rows` (sequences + 1,) are int32. A context-parallel rank has all rows, because it
    has tokens of every sequence.
    """

    values: Tensor
    cu_rows: Tensor


def is_table(values: Tensor) -> bool:
    """Return whether a tensor of a sequence is a table and not a column of its tokens."""
    return values.ndim > 1


def packed_tables(samples: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return for each table of the sequences the concatenated rows and, under another name, their boundaries."""
    packed: dict[str, Tensor] = {}
    for name, first in samples[0].items():
        if is_table(first):
            tables = [sample[name] for sample in samples]
            packed[name] = torch.cat(tables)
            counts = torch.tensor([len(table) for table in tables], device=first.device)
            packed[name + _BOUNDARIES] = pad(counts.cumsum(0), (1, 0)).int()
    return packed


def table_names(tables: Iterable[str]) -> list[str]:
    """Return the names of the tensors of a microbatch that have the tables `tables`."""
    return [part for name in tables for part in (name, name + _BOUNDARIES)]


def unpacked_tables(packed: Mapping[str, Tensor], tables: Iterable[str]) -> dict[str, PackedTable]:
    """Return the tables of a microbatch of `packed_tables`."""
    return {name: PackedTable(packed[name], packed[name + _BOUNDARIES]) for name in tables}


def empty_tables(
    tables: Mapping[str, int], rows: Iterable[int], boundaries: int, device: torch.device
) -> dict[str, Tensor]:
    """Return buffers for tables by their number of columns, with `rows` rows each and `boundaries` boundaries."""
    buffers: dict[str, Tensor] = {}
    for (name, columns), count in zip(tables.items(), rows, strict=True):
        buffers[name] = torch.empty((count, columns), dtype=torch.int32, device=device)
        buffers[name + _BOUNDARIES] = torch.empty(boundaries, dtype=torch.int32, device=device)
    return buffers


def all_to_all(
    parts: Sequence[Tensor], like: Tensor, taken: Sequence[int], sent: Sequence[int], *, group: Group
) -> Tensor:
    """Return the rows that the ranks of `group` send to this one: `taken` from each rank, for `sent` to each.

    `parts` are concatenated in the order of ranks. `like` has their type and their columns.
    """
    device = device_of(group)
    given = torch.cat(list(parts)).to(device) if parts else torch.empty((0, *like.shape[1:]), dtype=like.dtype)
    buffer = torch.empty((sum(taken), *like.shape[1:]), dtype=like.dtype, device=device)
    distributed.all_to_all_single(buffer, given.to(device).contiguous(), list(taken), list(sent), group=group)
    return buffer


def moved_rows(
    parts: Sequence[Sequence[Tensor]], like: Tensor, taken: Sequence[int], *, group: Group
) -> Sequence[Tensor]:
    """Return the tables of sequences that arrive: `taken` tables from each rank, for `parts` by the rank they go to."""
    counts = [torch.tensor([len(table)]) for tables in parts for table in tables]
    sizes = all_to_all(counts, torch.empty(0, dtype=torch.int64), taken, [len(tables) for tables in parts], group=group)
    rows = sizes.tolist()
    ends = list(accumulate(taken, initial=0))
    arriving = [sum(rows[first:end]) for first, end in pairwise(ends)]
    leaving = [sum(len(table) for table in tables) for tables in parts]
    values = all_to_all([table for tables in parts for table in tables], like, arriving, leaving, group=group)
    return torch.split(values, rows)
