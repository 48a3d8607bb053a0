"""Provides one packed microbatch on this rank: broadcast to tensor-parallel ranks, cut for context-parallel ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from megacpp_assets.contract.errors import MegacppError, SchemaViolation, SpecError
from megacpp_assets.loader.schedule.context_parallel import get_thd_partitioned_indices
from megacpp_assets.loader.schedule.data_schedule_utils import (
    METADATA_KEYS,
    PackedSample,
    broadcast_scalars,
    broadcast_tensor,
)
from megacpp_assets.loader.schedule.process_groups import ProcessGroups, device_of, first_rank, raise_everywhere
from megacpp_assets.loader.schedule.tables import PackedTable, empty_tables, table_names, unpacked_tables

_INPUTS: Final = {"tokens": torch.int64, "position_ids": torch.int64}
_OUTPUTS: Final = {"labels": torch.int64, "loss_mask": torch.float32}


@dataclass(frozen=True, slots=True)
class PackedSeqParams:
    """The arguments of attention over packed sequences, as in `megatron.core.packed_seq_params.PackedSeqParams`.

    All four `cu_seqlens` belong to padded sequences, as Megatron passes them to Transformer Engine.
    """

    cu_seqlens_q: Tensor
    cu_seqlens_kv: Tensor
    cu_seqlens_q_padded: Tensor
    cu_seqlens_kv_padded: Tensor
    max_seqlen_q: int
    max_seqlen_kv: int
    qkv_format: str = "thd"


class PackedBatch(NamedTuple):
    """Tensors of shape (1, tokens of this rank); None on stages that do not need them.

    `attention_mask` is always None: `packed_seq_params` separates the documents. `channels` has further columns of the
    sequences, such as structure or chunk ids, by name; it is empty on stages that do not need them. `tables` likewise
    has their tables, whole on each rank of `cp`.
    """

    tokens: Tensor | None
    labels: Tensor | None
    loss_mask: Tensor | None
    attention_mask: None
    position_ids: Tensor | None
    packed_seq_params: PackedSeqParams
    channels: Mapping[str, Tensor]
    tables: Mapping[str, PackedTable]


def get_batch_on_this_rank_for_sequence_packing(
    data_iterator: Iterator[PackedSample] | None,
    groups: ProcessGroups,
    *,
    virtual_stages: int = 1,
    virtual_stage: int = 0,
    mtp_on_this_rank: bool = False,
    channels: Mapping[str, torch.dtype] | None = None,
    tables: Mapping[str, int] | None = None,
) -> PackedBatch:
    """Return the next microbatch of a wrapped iterator. Every rank of `tp` must call this; all but the first pass None.

    `mtp_on_this_rank` says that the last stage predicts several tokens, so that it needs the inputs too. `channels`
    names further columns and their types, equal on every rank: they are broadcast and cut like tokens, on the first and
    last stage. Raises `SpecError` if the iterator is missing on the first rank of `tp`, or has ended, and
    `SchemaViolation` if the sequences lack a channel or a table; every rank of `tp` raises it.
    """
    is_first = groups.is_first_stage and virtual_stage == 0
    is_last = groups.is_last_stage and virtual_stage == virtual_stages - 1
    has_data = is_first or is_last or mtp_on_this_rank
    named, named_tables = (dict(channels or {}), dict(tables or {})) if has_data else ({}, {})
    wanted = (_INPUTS if is_first or mtp_on_this_rank else {}) | (_OUTPUTS if is_last else {}) | named
    batch: PackedSample = {}
    error: MegacppError | None = None
    if groups.tp.rank() == 0:
        try:
            batch = _own_part(data_iterator, wanted, named_tables, groups)
        except MegacppError as found:
            error = found
    raise_everywhere(error, groups.tp)
    received = _broadcast(batch, wanted, named_tables, groups)
    padded, longest = received["cu_seqlens_padded"], int(received["max_seqlen"])
    params = PackedSeqParams(padded, padded, padded, padded, longest, longest)
    values: dict[str, Any] = {name: received[name] if name in wanted else None for name in (*_INPUTS, *_OUTPUTS)}
    further = {name: received[name] for name in named}
    found_tables = unpacked_tables(received, named_tables)
    return PackedBatch(attention_mask=None, packed_seq_params=params, channels=further, tables=found_tables, **values)


def _own_part(
    data_iterator: Iterator[PackedSample] | None,
    wanted: Mapping[str, torch.dtype],
    tables: Mapping[str, int],
    groups: ProcessGroups,
) -> PackedSample:
    """Return the next microbatch with `tables` and with `wanted` columns cut for this `cp` rank, (1, tokens) each."""
    batch = _next(data_iterator)
    _require_named(batch, wanted, "column")
    _require_named(batch, table_names(tables), "table")
    for name, columns in tables.items():
        if batch[name].shape[1] != columns:
            found = batch[name].shape[1]
            raise SchemaViolation(f"table {name} of a microbatch", expected=f"{columns} columns", found=found)
    indices = _own_indices(batch, groups)
    return batch | {name: batch[name].to(dtype)[indices][None] for name, dtype in wanted.items()}


def _next(data_iterator: Iterator[PackedSample] | None) -> PackedSample:
    found = None if data_iterator is None else next(data_iterator, None)
    if found is None:
        do = "wrap the next global batch, and read only its number of microbatches"
        raise SpecError("wrapped data iterator", expected="another microbatch", found="none", do=do)
    return dict(found)


def _require_named(batch: PackedSample, wanted: Iterable[str], kind: str) -> None:
    for name in wanted:
        if name not in batch:
            do = f"give every sequence this {kind}"
            raise SchemaViolation(f"{kind} {name} of a microbatch", expected="it", found=sorted(batch), do=do)


def _own_indices(batch: PackedSample, groups: ProcessGroups) -> Tensor:
    padded = batch["cu_seqlens_padded"]
    total = int(padded[-1])
    if groups.cp.size() == 1:
        return torch.arange(total, device=padded.device)
    return get_thd_partitioned_indices(padded, total, groups.cp.size(), groups.cp.rank()).long()


def _broadcast(
    batch: PackedSample, wanted: Mapping[str, torch.dtype], tables: Mapping[str, int], groups: ProcessGroups
) -> PackedSample:
    """Return the tensors of `wanted`, of `tables`, and the metadata on every rank of `tp`."""
    group = groups.tp
    if group.size() == 1:
        return batch
    device = device_of(group)
    shapes = [0, 0, *(0 for _ in tables)]
    if batch:
        tokens = int(batch["cu_seqlens_padded"][-1]) // groups.cp.size()
        shapes = [len(batch["cu_seqlens"]), tokens, *(len(batch[name]) for name in tables)]
    boundaries, tokens, *rows = map(int, broadcast_scalars(shapes, group))
    if not batch:
        batch = {name: torch.empty((1, tokens), dtype=dtype, device=device) for name, dtype in wanted.items()}
        batch |= {name: torch.empty(boundaries, dtype=torch.int32, device=device) for name in METADATA_KEYS[:2]}
        batch |= empty_tables(tables, rows, boundaries, device)
        batch["max_seqlen"] = torch.empty((), dtype=torch.int32, device=device)
    for name in (*wanted, *table_names(tables), *METADATA_KEYS):
        broadcast_tensor(batch[name], first_rank(group), group)
    return batch
