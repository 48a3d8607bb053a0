"""The training processes of one run: the rank of this process, and sums over all. One process needs no group."""

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
from megacpp_assets.training.processes.node import MEETING_FILE, PATIENCE_SECONDS, NodeRank, meeting, own_address
from megacpp_assets.training.processes.writers import Writers
from megacpp_assets.training.sharding import shard, sum_gradients

_STORE_FILE: Final = "store"
_QUIET: Final = {"NCCL_RAS_ENABLE": "0"}
"""Disables NCCL's diagnostic server, which would listen on a port while the process runs."""
_ONLY_NODE: Final = NodeRank()


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process is number `rank` of `world` and computes on `device`. `parallel` is DDP or FSDP.

    `first_here` is true for one process on each node. `writers` is None for a process that saves no shard.
    """

    rank: int
    world: int
    device: torch.device
    parallel: str = DDP
    first_here: bool = True
    writers: Writers | None = field(default_factory=Writers)

    def sum(self, values: Tensor) -> Tensor:
        """Sum `values` over all processes in place; every process gets the sum."""
        if self.world > 1:
            distributed.all_reduce(values)
        return values

    def barrier(self) -> None:
        """Wait until every process has called this."""
        if self.world > 1:
            distributed.barrier()

    @property
    def sharded(self) -> bool:
        """Return whether each process holds a part of the model. A single process holds all of it."""
        return self.world > 1 and self.parallel == FSDP

    def summing_later(self, network: nn.Module) -> AbstractContextManager[None]:
        """Inside this context gradients of `network` are accumulated locally.

        The first backward pass after it averages the accumulated gradients over the processes.
        """
        if self.sharded:
            return _local_gradients(network)
        whole = getattr(network, "_orig_mod", network)  # the module inside torch.compile's wrapper
        return whole.no_sync() if isinstance(whole, DistributedDataParallel) else nullcontext()

    def share(self, model: nn.Module, blocks: nn.ModuleList, *forwards: str) -> None:
        """Shard the model in place if the recipe asks for it. Call this before the optimizer is made.

        `forwards` are passed to `shard`.
        """
        if self.sharded:
            shard(model, blocks, self.device, self.world, *forwards)

    def averaging(self, model: nn.Module) -> nn.Module:
        """Return `model`, wrapped so that gradients are averaged over the processes if there are several."""
        if self.world == 1 or self.sharded:
            return model
        return DistributedDataParallel(model, device_ids=[self.device] if self.device.type == "cuda" else None)


@contextmanager
def _local_gradients(network: nn.Module) -> Iterator[None]:
    sum_gradients(network, wanted=False)
    yield
    sum_gradients(network, wanted=True)


@contextmanager
def join_ranks(rank: int, recipe: TrainingRecipe, directory: Path, node: NodeRank = _ONLY_NODE) -> Iterator[Ranks]:
    """Join the recipe's processes, by gloo on CPUs and nccl on CUDA. A group is made if `recipe.needs_group`.

    On one node the processes find each other through a file below `directory`. Only this user may have access to it,
    because its contents are trusted. On several nodes they connect to the first process, in the job's own network.
    `EnvironmentLacks` if there is no device for this process.
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
    # Not after an error: connections stay open until the error is recorded. If they closed first, the other processes
    # would fail and could record their own errors first.
    if recipe.needs_group:
        distributed.destroy_process_group()


def _device(kind: str, number: int) -> torch.device:
    """Return the device of process `number` of this node. `EnvironmentLacks` if CUDA has too few devices."""
    if kind != "cuda":
        return torch.device("cpu")
    available = torch.cuda.device_count()
    if number >= available:
        do = "set training.device to cpu, lower training.processes, or launch on a machine with GPUs (launch.launcher)"
        wanted = f"{number + 1} CUDA devices for as many processes"
        raise EnvironmentLacks("this machine", expected=wanted, found=available or "none", do=do)
    return torch.device("cuda", number)


def _writers(rank: int, recipe: TrainingRecipe, node: NodeRank) -> Writers | None:
    """Return the writers of checkpoints: all processes of a sharded model, else the first one; None for the others."""
    if recipe.processes == 1 or recipe.parallel != FSDP:
        return Writers() if rank == 0 else None
    first = replace(node, number=0)
    group = distributed.new_group(backend="gloo")
    return Writers(rank, recipe.processes, first.ranks(recipe.processes), group)


def _store(rank: int, world: int, directory: Path, node: NodeRank) -> Any:
    """Return the store in which processes exchange their addresses; their later connections use the same network."""
    if world == 1:
        _bind("lo")
        return distributed.HashStore()  # type: ignore[attr-defined]
    if node.count == 1:
        _bind("lo")  # other machines cannot reach the processes
        file = str(directory / STORE_FOLDER / _STORE_FILE)
        return distributed.FileStore(file, world)  # type: ignore[attr-defined]
    address, interface = own_address()
    _bind(interface)
    patience = timedelta(seconds=PATIENCE_SECONDS)
    if rank > 0:
        host, port = meeting(directory)
        return TCPStore(host, port, world, is_master=False, timeout=patience)
    listening = socket.create_server((address, 0))  # a socket made by TCPStore would listen on every interface
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
