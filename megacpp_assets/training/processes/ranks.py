"""The training processes of one run: which one this is, and sums over all of them. One process needs no group."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, distributed, nn
from torch._C._distributed_c10d import TCPStore
from torch.nn.parallel import DistributedDataParallel

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.contract.recipe.training import DDP, FSDP, TrainingRecipe
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.training.job import STORE_FOLDER
from megacpp_assets.training.processes.node import MEETING_FILE, PATIENCE_SECONDS, Node, meeting, own_address
from megacpp_assets.training.processes.writers import Writers
from megacpp_assets.training.sharding import shard, sum_gradients

_STORE_FILE: Final = "store"
_QUIET: Final = {"NCCL_RAS_ENABLE": "0"}
"""No diagnostic server, which would listen as long as the process lives."""
_ALONE: Final = Node()


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process is number `rank` of `world`, and computes on `device`; several share a model as `parallel` says. One
    on each node is `first_here`. Those with `writers` save what they have of the model."""

    rank: int
    world: int
    device: torch.device
    parallel: str = DDP
    first_here: bool = True
    writers: Writers | None = field(default_factory=Writers)

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
def join_ranks(rank: int, recipe: TrainingRecipe, directory: Path, node: Node = _ALONE) -> Iterator[Ranks]:
    """Join the recipe's processes: gloo on CPUs, nccl on CUDA. One needs no group, unless the recipe does.

    On one node they meet in a file below `directory`, which must be this user's alone: what the others write there is
    believed. On several they meet where the first process listens, in the job's own network. `EnvironmentLacks` for a
    process without a device.
    """
    here = rank - node.ranks(recipe.processes).start
    own = _device(recipe.device, here)
    if own.type == "cuda":
        torch.cuda.set_device(own)
    if recipe.needs_group:
        store = _store(rank, recipe.processes, directory, node)
        backend = "nccl" if own.type == "cuda" else "gloo"
        distributed.init_process_group(backend, store=store, rank=rank, world_size=recipe.processes)
    writers = _writers(rank, recipe, node)
    yield Ranks(rank, recipe.processes, own, recipe.parallel, first_here=here == 0, writers=writers)
    # Not after an error: the connections stay open until it is written down, or the others' complaints would be first.
    if recipe.needs_group:
        distributed.destroy_process_group()


def _device(kind: str, number: int) -> torch.device:
    """That of process `number` of this node. `EnvironmentLacks` for a recipe on CUDA where there is none for it."""
    if kind != "cuda":
        return torch.device("cpu")
    there = torch.cuda.device_count()
    if number >= there:
        do = "set training.device to cpu, lower training.processes, or launch it where there are (launch.launcher)"
        wanted = f"{number + 1} devices of CUDA for as many processes"
        raise EnvironmentLacks("this machine", expected=wanted, found=there or "none", do=do)
    return torch.device("cuda", number)


def _writers(rank: int, recipe: TrainingRecipe, node: Node) -> Writers | None:
    """Of a model in parts all, else the first alone: the others have the same."""
    if recipe.processes == 1 or recipe.parallel != FSDP:
        return Writers() if rank == 0 else None
    first = replace(node, number=0)
    group = distributed.new_group(backend="gloo")
    return Writers(rank, recipe.processes, first.ranks(recipe.processes), group)


def _store(rank: int, world: int, directory: Path, node: Node) -> Any:
    """Where the processes tell each other their addresses; what they connect then is bound to the same network."""
    if world == 1:
        _bind("lo")
        return distributed.HashStore()  # type: ignore[attr-defined]
    if node.count == 1:
        _bind("lo")  # nothing of theirs is reached from another machine
        file = str(directory / STORE_FOLDER / _STORE_FILE)
        return distributed.FileStore(file, world)  # type: ignore[attr-defined]
    address, interface = own_address()
    _bind(interface)
    patience = timedelta(seconds=PATIENCE_SECONDS)
    if rank > 0:
        host, port = meeting(directory)
        return TCPStore(host, port, world, is_master=False, timeout=patience)
    listening = socket.create_server((address, 0))  # the store's own would listen on every interface
    port = listening.getsockname()[1]
    store = TCPStore(
        address,
        port,
        world,
        is_master=True,
        timeout=patience,
        wait_for_workers=False,
        master_listen_fd=listening.detach(),
    )
    write_atomic(directory / MEETING_FILE, f"{address}:{port}".encode())
    return store


def _bind(interface: str) -> None:
    os.environ.update({"GLOO_SOCKET_IFNAME": interface, "NCCL_SOCKET_IFNAME": interface, **_QUIET})
