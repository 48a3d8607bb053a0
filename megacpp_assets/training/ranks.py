"""The training processes of one run: which one this is, and sums over all of them. One process needs no group."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process is number `rank` of `world`, and computes on `device`."""

    rank: int
    world: int
    device: torch.device

    def sum(self, values: Tensor) -> Tensor:
        """Sum over all processes, in place; every process gets it."""
        if self.world > 1:
            distributed.all_reduce(values)
        return values

    def barrier(self) -> None:
        """Wait until every process is here."""
        if self.world > 1:
            distributed.barrier()

    def parallel(self, model: nn.Module) -> nn.Module:
        """`model`, averaging gradients over the processes where there are several."""
        if self.world == 1:
            return model
        return DistributedDataParallel(model, device_ids=[self.device] if self.device.type == "cuda" else None)


@contextmanager
def join_ranks(device: str) -> Iterator[Ranks]:
    """Join the group that torchrun describes in the environment: gloo on CPUs, nccl on CUDA. Alone without torchrun."""
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    own = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if device == "cuda" else torch.device("cpu")
    if own.type == "cuda":
        torch.cuda.set_device(own)
    if world > 1:
        distributed.init_process_group("nccl" if own.type == "cuda" else "gloo")
    try:
        yield Ranks(rank, world, own)
    finally:
        if world > 1:
            distributed.destroy_process_group()
