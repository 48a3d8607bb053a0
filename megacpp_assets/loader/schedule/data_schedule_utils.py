"""The steps of a packing scheduler: fetch and gather, move, pack, broadcast, and distribute to virtual stages.

The names of functions follow the scheduler's contract. Buffers of a collective are on the device that the group's
backend needs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

import torch
from torch import Tensor, distributed
from torch.nn.functional import pad

from megacpp_assets.contract.errors import MegacppError, SchemaViolation, SpecError
from megacpp_assets.loader.schedule.context_parallel import padded_length
from megacpp_assets.loader.schedule.process_groups import (
    Group,
    ProcessGroups,
    device_of,
    first_rank,
    raise_everywhere,
    require_same,
    require_same_sequences,
)
from megacpp_assets.loader.schedule.tables import all_to_all, is_table, moved_rows, packed_tables

Sample = Mapping[str, Tensor]
"""One sequence: 1-D tensors of equal length by name, at least `REQUIRED_KEYS`, and 2-D tables. The names are the same
on every rank."""
PackedSample = dict[str, Tensor]
"""A microbatch: the concatenated tensors of padded sequences, `METADATA_KEYS`, and tables with their boundaries."""
Batches = Iterator[Sample | Sequence[Sample]]

REQUIRED_KEYS: Final = ("tokens", "labels", "loss_mask", "position_ids")
METADATA_KEYS: Final = ("cu_seqlens", "cu_seqlens_padded", "max_seqlen")


def get_batch_and_global_seqlens(
    data_iterator: Batches | None, num_microbatches: int, groups: ProcessGroups, tables: Iterable[str] = ()
) -> tuple[list[Sample], list[list[int]]]:
    """Return (sequences of this rank's next `num_microbatches` items, padded lengths by rank of `dp`).

    Both are empty on ranks that do not read data. An item is one sequence or several. Sequences must have `tables`.
    Every error is raised on every rank within the groups' timeout.

    Raises:
        SpecError: the iterator ended, ranks have different kinds of data, or ranks of one place in dp different data.
        SchemaViolation: a sequence has no tokens, its tensors differ in length, or a table is not of int32 rows.
    """
    own: list[Sample] = []
    error: MegacppError | None = None
    if groups.reads_data:
        try:
            own = _fetched(data_iterator, num_microbatches, tables)
        except MegacppError as found:
            error = found
    raise_everywhere(error, groups.everyone)
    kind = {name: _kind(values) for name, values in sorted(own[0].items())} if own else None
    require_same(kind, "tensors of sequences", groups.everyone)
    require_same_sequences(groups.dp.rank(), _digest(own), groups.everyone)
    if not groups.reads_data:
        return [], []
    lengths = [padded_length(len(sample["tokens"]), groups.cp.size()) for sample in own]
    return own, _gathered(lengths, groups.dp)


def global_table_rows(own: Sequence[Sample], tables: Iterable[str], groups: ProcessGroups) -> dict[str, list[int]]:
    """Return the rows of the named tables of all sequences of the global batch; {} on ranks that do not read data."""
    if not groups.reads_data:
        return {}
    gathered = {name: _gathered([len(sample[name]) for sample in own], groups.dp) for name in tables}
    return {name: [rows for each in by_rank for rows in each] for name, by_rank in gathered.items()}


def _kind(values: Tensor) -> str:
    return " ".join([str(values.dtype), *(f"x {columns}" for columns in values.shape[1:])])


def _digest(own: Sequence[Sample]) -> str:
    """Return a hash of the tokens of all sequences; "" without any."""
    if not own:
        return ""
    found = hashlib.sha256()
    for sample in own:
        tokens = sample["tokens"].cpu().contiguous()
        found.update(len(tokens).to_bytes(8, "little") + tokens.numpy().tobytes())
    return found.hexdigest()


def _fetched(data_iterator: Batches | None, num_microbatches: int, tables: Iterable[str]) -> list[Sample]:
    if data_iterator is None:
        raise SpecError("data iterator", expected="one on the first and last stage", found="none")
    own: list[Sample] = []
    for number in range(num_microbatches):
        item = next(data_iterator, None)
        if item is None:
            do = "end training before the data ends"
            raise SpecError("data iterator", expected=f"{num_microbatches} items", found=f"{number} items", do=do)
        own.extend([item] if isinstance(item, Mapping) else item)
    if not own:
        raise SpecError("global batch", expected="at least one sequence on each rank", found="none")
    kinds = {name: _kind(values) for name, values in own[0].items()}
    for number, sample in enumerate(own):
        _require_valid(number, sample)
        _require_tables(number, sample, tables)
        _require_kinds(number, sample, kinds)
    return own


def _require_valid(number: int, sample: Sample) -> None:
    missing = [name for name in REQUIRED_KEYS if name not in sample]
    if missing:
        raise SchemaViolation(f"sequence {number}", expected=f"tensors {', '.join(REQUIRED_KEYS)}", found=list(sample))
    shapes = {name: tuple(values.shape) for name, values in sample.items() if not is_table(values)}
    absent = [name for name in REQUIRED_KEYS if name not in shapes]
    if absent or len(set(shapes.values())) != 1 or len(shapes["tokens"]) != 1 or not shapes["tokens"][0]:
        expected, found = "1-D tensors of one length, at least 1", {name: tuple(v.shape) for name, v in sample.items()}
        raise SchemaViolation(f"sequence {number}", expected=expected, found=found)


def _require_tables(number: int, sample: Sample, tables: Iterable[str]) -> None:
    """Require the named tables, and that all tables have 2 dimensions and int32 values."""
    for name in (*tables, *(name for name, values in sample.items() if is_table(values))):
        values = sample.get(name)
        if values is None or values.ndim != 2 or values.dtype != torch.int32:
            found = "none" if values is None else f"{values.dtype} {tuple(values.shape)}"
            raise SchemaViolation(f"table {name} of sequence {number}", expected="a 2-D int32 tensor", found=found)


def _require_kinds(number: int, sample: Sample, kinds: Mapping[str, str]) -> None:
    found = {name: _kind(values) for name, values in sample.items()}
    if found != kinds:
        raise SchemaViolation(f"sequence {number}", expected=f"tensors as of sequence 0, {kinds}", found=found)


def _gathered(own: Sequence[int], group: Group) -> list[list[int]]:
    device = device_of(group)
    counts = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(group.size())]
    distributed.all_gather(counts, torch.tensor([len(own)], device=device), group=group)
    most = max(int(count) for count in counts)
    padded = torch.zeros(most, dtype=torch.int64, device=device)
    padded[: len(own)] = torch.tensor(own, dtype=torch.int64)
    found = [torch.zeros_like(padded) for _ in counts]
    distributed.all_gather(found, padded, group=group)
    return [values[: int(count)].tolist() for values, count in zip(found, counts, strict=True)]


def reroute_samples_to_dcp_ranks(
    own: Sequence[Sample], seqlens: Sequence[Sequence[int]], dp_rank_of: Sequence[int], groups: ProcessGroups
) -> dict[int, PackedSample]:
    """Return the padded sequences that this rank trains on, by their number in the global batch.

    Sequences are numbered over the ranks of `dp`: rank 0 has the first ones, then rank 1, and so on. Sequence n moves
    to rank `dp_rank_of[n]`. All ranks of `cp` have the same sequences, so sequences move only between ranks with the
    same place in `cp`. There is one all-to-all per tensor name, two per table (of counts and of rows), and one for the
    lengths before padding (`original_seq_len`).
    """
    group = groups.dp
    rank = group.rank()
    firsts = list(accumulate(map(len, seqlens), initial=0))
    length_of = [length for each in seqlens for length in each]
    sent = [[n for n in range(firsts[rank], firsts[rank + 1]) if dp_rank_of[n] == to] for to in range(group.size())]
    taken = [[n for n in range(firsts[by], firsts[by + 1]) if dp_rank_of[n] == rank] for by in range(group.size())]
    arriving = [n for numbers in taken for n in numbers]
    received: dict[int, PackedSample] = {n: {} for n in arriving}
    counts = [[len(numbers) for numbers in side] for side in (taken, sent)]
    sizes = [[sum(length_of[n] for n in numbers) for numbers in side] for side in (taken, sent)]
    leaving = [[own[n - firsts[rank]] for n in numbers] for numbers in sent]
    lengths = [length_of[n] for numbers in sent for n in numbers]
    for name, like in sorted(own[0].items()):
        if is_table(like):
            tables = [[sample[name] for sample in samples] for samples in leaving]
            found = moved_rows(tables, like, counts[0], group=group)
        else:
            columns = [sample[name] for samples in leaving for sample in samples]
            values = all_to_all(list(map(_padded, columns, lengths)), like, *sizes, group=group)
            found = torch.split(values, [length_of[n] for n in arriving])
        for n, part in zip(arriving, found, strict=True):
            received[n][name] = part
    real = [torch.tensor([len(sample["tokens"])]) for samples in leaving for sample in samples]
    lengths_before = all_to_all(real, torch.empty(0, dtype=torch.int64), *counts, group=group)
    for n, length in zip(arriving, lengths_before, strict=True):
        received[n]["original_seq_len"] = length
    return received


def _padded(values: Tensor, length: int) -> Tensor:
    return pad(values, (0, length - len(values)))


def build_packed_microbatches(grouped_samples: Sequence[Sequence[PackedSample]]) -> list[PackedSample]:
    """Return one microbatch per group: concatenated tensors, and the metadata `METADATA_KEYS`, all int32.

    `cu_seqlens` and `cu_seqlens_padded` (n + 1,) are starts of sequences without and with padding. Tokens are placed by
    `cu_seqlens_padded`. `max_seqlen` () is the longest padded length. Tables are those of `packed_tables`.
    """
    return [_packed(samples) for samples in grouped_samples]


def _packed(samples: Sequence[PackedSample]) -> PackedSample:
    columns = [name for name, values in samples[0].items() if values.ndim == 1]
    packed = {name: torch.cat([sample[name] for sample in samples]) for name in columns} | packed_tables(samples)
    real = torch.stack([sample["original_seq_len"] for sample in samples])
    padded = torch.tensor([len(sample["tokens"]) for sample in samples], device=real.device)
    for name, lengths in (("cu_seqlens", real), ("cu_seqlens_padded", padded)):
        packed[name] = pad(lengths.cumsum(0), (1, 0)).int()
    packed["max_seqlen"] = padded.max().int()
    return packed


def broadcast_tensor(item: Tensor | None, src_rank: int, group: Group) -> None:
    """Overwrite `item` on every rank of `group` with the tensor of the global rank `src_rank`. None is ignored."""
    if item is not None:
        distributed.broadcast(item, src_rank, group=group)


def broadcast_scalars(values: Sequence[float], group: Group) -> list[float]:
    """Return the numbers of the group's first rank on every rank, exact up to 2^53. All ranks pass the same count."""
    numbers = torch.tensor(list(values), dtype=torch.float64, device=device_of(group))
    broadcast_tensor(numbers, first_rank(group), group)
    return [float(value) for value in numbers]


def broadcast_to_pp_group(samples: list[PackedSample] | None, groups: ProcessGroups) -> list[PackedSample]:
    """Return the microbatches of this rank: its own on the first and last stage, only `METADATA_KEYS` on other stages.

    The first stage sends the metadata. Every rank of `pp` must call this.
    """
    group = groups.pp
    if group.size() <= 2:
        assert samples is not None
        return samples
    device = device_of(group)
    flat = _flat_metadata(samples) if groups.is_first_stage and samples is not None else torch.empty(0)
    (size,) = broadcast_scalars([len(flat)], group)
    metadata = flat.to(device) if groups.is_first_stage else torch.empty(int(size), dtype=torch.int64, device=device)
    broadcast_tensor(metadata, first_rank(group), group)
    return samples if samples is not None else _metadata_of(metadata)


def _flat_metadata(samples: Sequence[PackedSample]) -> Tensor:
    """Return the metadata as one int64 tensor.

    Per microbatch: number of boundaries, longest sequence, both boundaries.
    """
    parts = [
        torch.cat([torch.tensor([len(s["cu_seqlens"]), int(s["max_seqlen"])]), s["cu_seqlens"].cpu(),
                   s["cu_seqlens_padded"].cpu()]).long()
        for s in samples
    ]  # fmt: skip
    return torch.cat(parts)


def _metadata_of(flat: Tensor) -> list[PackedSample]:
    samples, place = [], 0
    while place < len(flat):
        count = int(flat[place])
        real, padded = torch.split(flat[place + 2 : place + 2 + 2 * count].int(), count)
        samples.append({"cu_seqlens": real, "cu_seqlens_padded": padded, "max_seqlen": flat[place + 1].int()})
        place += 2 + 2 * count
    return samples


def create_data_iterator(
    samples: Sequence[PackedSample], groups: ProcessGroups, virtual_stages: int = 1
) -> Iterator[PackedSample] | list[Iterator[PackedSample] | None] | None:
    """Return an iterator over the microbatches, or a list with one per virtual stage if there are several.

    Ranks of `tp` other than the first get None, because they receive broadcasts. Tokens are only for the first virtual
    stage of the first rank of `pp` and for the last virtual stage of its last rank; all others get `METADATA_KEYS`.
    """
    reads = groups.tp.rank() == 0
    if virtual_stages == 1:
        return iter(samples) if reads else None
    metadata = [{name: sample[name] for name in METADATA_KEYS} for sample in samples]
    whole = {0} if groups.is_first_stage else set()
    whole |= {virtual_stages - 1} if groups.is_last_stage else set()
    return [iter(samples if stage in whole else metadata) if reads else None for stage in range(virtual_stages)]
