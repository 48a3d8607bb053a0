"""The process groups of a rank, and errors that are raised on all ranks, so that no rank waits for a failed one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import torch
from torch import distributed

from megacpp_assets.contract.errors import MegacppError, SpecError, TrainingFailed

Group = distributed.ProcessGroup
_TIMEOUT: Final = timedelta(minutes=10)
_LONGEST_REASON: Final = 300


@dataclass(frozen=True, slots=True)
class ProcessGroups:
    """The groups that this rank belongs to, of the same kinds as in `megatron.core.parallel_state`.

    `everyone` has all ranks. Ranks of `dp` read different sequences. Ranks of `cp` have different tokens of the same
    sequences. Ranks of `tp` have the same tokens. Ranks of `pp` are the stages of one pipeline.
    """

    everyone: Group
    tp: Group
    cp: Group
    dp: Group
    pp: Group

    @property
    def reads_data(self) -> bool:
        """Whether this rank reads sequences: the first rank of `tp` on the first and on the last stage."""
        return self.tp.rank() == 0 and (self.is_first_stage or self.is_last_stage)

    @property
    def is_first_stage(self) -> bool:
        """Whether this rank embeds tokens."""
        return self.pp.rank() == 0

    @property
    def is_last_stage(self) -> bool:
        """Whether this rank computes the loss."""
        return self.pp.rank() == self.pp.size() - 1


def create_process_groups(
    *, tp: int = 1, cp: int = 1, dp: int = 1, pp: int = 1, timeout: timedelta = _TIMEOUT, backend: str | None = None
) -> ProcessGroups:
    """Create groups of the given sizes over all ranks, in Megatron's order: tp varies fastest, then cp, dp and pp.

    Every rank must call this. A collective that takes longer than `timeout` raises an error. Without a `backend` the
    groups have that of the default group. Raises `SpecError` if the product of the sizes is not the number of ranks.
    """
    sizes = {"tp": tp, "cp": cp, "dp": dp, "pp": pp}
    world = distributed.get_world_size()
    if tp * cp * dp * pp != world or min(sizes.values()) < 1:
        do = "choose sizes whose product is the number of processes"
        raise SpecError("parallel sizes", expected=f"a product of {world} processes", found=sizes, do=do)
    own: dict[str, Group] = {}
    ranks = torch.arange(world).reshape(pp, dp, cp, tp)
    for axis, name in enumerate(("pp", "dp", "cp", "tp")):
        for members in ranks.movedim(axis, -1).reshape(-1, sizes[name]).tolist():
            group = distributed.new_group(members, timeout=timeout, backend=backend)
            if distributed.get_rank() in members:
                own[name] = group
    everyone = distributed.new_group(list(range(world)), timeout=timeout, backend=backend)
    return ProcessGroups(everyone=everyone, **own)


def device_of(group: Group) -> torch.device:
    """Return the device for tensors of the group's collectives: NCCL needs CUDA tensors."""
    if distributed.get_backend(group) == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def first_rank(group: Group) -> int:
    """Return the global rank of the group's first member."""
    return distributed.get_process_group_ranks(group)[0]


def raise_everywhere(error: MegacppError | None, group: Group) -> None:
    """Raise, on every rank of `group`, the error of the lowest rank that has one. Every rank must call it."""
    if group.size() == 1:
        if error is not None:
            raise error
        return
    found: list[Any] = [None] * group.size()
    distributed.all_gather_object(found, None if error is None else (type(error), str(error)), group=group)
    _raise_first(found)


def require_same(value: object, what: str, group: Group) -> None:
    """Raise `SpecError` on every rank of `group` unless all ranks pass the same `value`. None is not compared."""
    found: list[Any] = [None] * group.size()
    distributed.all_gather_object(found, value, group=group)
    stated = [(rank, each) for rank, each in enumerate(found) if each is not None]
    for rank, each in stated[1:]:
        if each != stated[0][1]:
            expected = f"the value of rank {stated[0][0]}, {stated[0][1]}"
            do = "give every rank the same settings and the same kind of data"
            raise SpecError(f"{what} of rank {rank}", expected=expected, found=each, do=do)


def require_same_sequences(dp_rank: int, digest: str, group: Group) -> None:
    """Raise `SpecError` on every rank of `group` unless ranks of one `dp_rank` read the same. "" is not compared."""
    found: list[Any] = [None] * group.size()
    distributed.all_gather_object(found, (dp_rank, digest), group=group)
    first: dict[int, int] = {}
    for rank, (place, each) in enumerate(found):
        if each and each != found[first.setdefault(place, rank)][1]:
            expected = f"the sequences of rank {first[place]}, whose place in dp is the same"
            do = "seed the data of all ranks of tp, cp and pp alike"
            raise SpecError(f"global batch of rank {rank}", expected=expected, found="other sequences", do=do)


@contextmanager
def answered(what: str, group: Group) -> Iterator[None]:
    """Raise `TrainingFailed` if a rank of a collective does not answer in time, or has gone."""
    try:
        yield
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]
        do = "read the output of the rank that failed first; every rank must take the same steps"
        expected = f"an answer of all {group.size()} ranks in time"
        raise TrainingFailed(what, expected=expected, found=reason, do=do) from error


def _raise_first(found: Sequence[Any]) -> None:
    for rank, each in enumerate(found):
        if each is not None:
            kind, message = each
            raise kind(f"rank {rank}: {message}")
