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


def whole(tensor: Tensor) -> Tensor:
    """All of it."""
    return cast(Tensor, cast(Any, tensor).full_tensor()) if is_sharded(tensor) else tensor


def fill(tensor: Tensor, values: Tensor) -> None:
    """Copy `values`, all of them and on every process the same, into `tensor`, as far as it lies here."""
    if not is_sharded(tensor):
        tensor.copy_(values)
        return
    from torch.distributed.tensor import distribute_tensor  # noqa: PLC0415 - as above

    parts = cast(Any, tensor)
    moved = values.to(tensor.device)
    # Without a source rank nothing is sent: each process cuts its part out of what it has read itself.
    cut = distribute_tensor(moved, parts.device_mesh, parts.placements, src_data_rank=None)
    local(tensor).copy_(local(cut))
