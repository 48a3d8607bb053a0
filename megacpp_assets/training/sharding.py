"""A model of which each process holds a part: FSDP2, `torch.distributed.fsdp.fully_shard` (Zhao et al., 2023).

Parameters, gradients and moments are cut along their first dimension; a block's are gathered while it computes, and let
go after. Of tensors that lie in parts, all processes must ask together.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn


def shard(model: nn.Module, blocks: nn.ModuleList, device: torch.device, world: int, *forwards: str) -> None:
    """Cut the parameters of `model` in place over `world` processes, block by block, the rest together. `forwards` are
    the methods beside `forward` that compute with them."""
    # Loaded here: 0.7 s of CPU that a run of one process does not pay.
    from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method  # noqa: PLC0415

    mesh = init_device_mesh(device.type, (world,))
    for part in (*blocks, model):
        fully_shard(part, mesh=mesh)
    for name in forwards:
        register_fsdp_forward_method(model, name)


def reshard(model: nn.Module) -> None:
    """Let go of what a `forward` without a backward pass left gathered."""
    if hasattr(model, "reshard"):
        cast(Any, model).reshard()


def sum_gradients(model: nn.Module, *, wanted: bool) -> None:
    """Whether the next backward pass of a sharded model sums gradients over the processes, or keeps its own."""
    cast(Any, model).set_requires_gradient_sync(wanted)


def is_sharded(tensor: Tensor) -> bool:
    """Whether this process has but a part of it. Known by what it can do: its class is not loaded for other models."""
    return hasattr(tensor, "full_tensor")


def local(tensor: Tensor) -> Tensor:
    """This process's part, or all of what lies whole; changed in place it changes `tensor`."""
    return cast(Tensor, cast(Any, tensor).to_local()) if is_sharded(tensor) else tensor


def first_row(tensor: Tensor) -> int:
    """The row of all of it that this process's part begins with."""
    if not is_sharded(tensor):
        return 0
    mesh = cast(Any, tensor).device_mesh
    rows, number = -(-len(tensor) // int(mesh.size())), int(mesh.get_local_rank())
    return min(len(tensor), number * rows)
