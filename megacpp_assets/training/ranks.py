"""The training processes of one run: which one this is, and sums over all of them. One process needs no group."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from megacpp_assets.contract.recipe.training import DDP, FSDP
from megacpp_assets.training.sharding import shard, sum_gradients

_STORE_FILE: Final = "store"
_LOOPBACK: Final = {
    "GLOO_SOCKET_IFNAME": "lo",
    "NCCL_SOCKET_IFNAME": "lo",
    "NCCL_RAS_ENABLE": "0",  # a diagnostic server that listens as long as the process lives
}
"""All processes are on this machine: nothing of theirs is reached from another."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process is number `rank` of `world`, and computes on `device`; several share a model as `parallel` says."""

    rank: int
    world: int
    device: torch.device
    parallel: str = DDP

    def sum(self, values: Tensor) -> Tensor:
        """Sum over all processes, in place; every process gets it."""
        if self.world > 1:
            distributed.all_reduce(values)
        return values

    def barrier(self) -> None:
        """Wait until every process is here."""
        if self.world > 1:
            distributed.barrier()

    @property
    def sharded(self) -> bool:
        """Whether each process holds a part of the model; one alone holds all of it."""
        return self.world > 1 and self.parallel == FSDP

    def summing_later(self, network: nn.Module) -> AbstractContextManager[None]:
        """While it is open, gradients of `network` stay this process's own; those after it are averaged with them."""
        if self.sharded:
            return _kept(network)
        whole = getattr(network, "_orig_mod", network)  # what torch.compile wraps
        return whole.no_sync() if isinstance(whole, DistributedDataParallel) else nullcontext()

    def share(self, model: nn.Module, blocks: nn.ModuleList, *forwards: str) -> None:
        """Where the model is sharded, cut it in place, before its optimizer is made; `forwards` as in `shard`."""
        if self.sharded:
            shard(model, blocks, self.device, self.world, *forwards)

    def averaging(self, model: nn.Module) -> nn.Module:
        """`model`, averaging gradients over the processes where there are several."""
        if self.world == 1 or self.sharded:
            return model
        return DistributedDataParallel(model, device_ids=[self.device] if self.device.type == "cuda" else None)


@contextmanager
def _kept(network: nn.Module) -> Iterator[None]:
    sum_gradients(network, wanted=False)
    yield
    sum_gradients(network, wanted=True)


@contextmanager
def join_ranks(rank: int, world: int, device: str, folder: Path, parallel: str = DDP) -> Iterator[Ranks]:
    """Join the `world` processes that meet in a file of `folder`: gloo on CPUs, nccl on CUDA. One needs no group.

    The folder must be this user's alone: what the others write there is believed.
    """
    own = torch.device("cuda", rank) if device == "cuda" else torch.device("cpu")
    if own.type == "cuda":
        torch.cuda.set_device(own)
    if world > 1:
        os.environ.update(_LOOPBACK)
        store = distributed.FileStore(str(folder / _STORE_FILE), world)  # type: ignore[attr-defined]
        backend = "nccl" if own.type == "cuda" else "gloo"
        distributed.init_process_group(backend, store=store, rank=rank, world_size=world)
    yield Ranks(rank, world, own, parallel)
    # Not after an error: the connections stay open until it is written down, or the others' complaints would be first.
    if world > 1:
        distributed.destroy_process_group()
