"""Shards a model over processes by FSDP2, `torch.distributed.fsdp.fully_shard` (Zhao et al., 2023).

Parameters, gradients and moments are split along their first dimension. The parameters of a block are gathered while it
computes and released afterwards. Gathering is collective: all processes must do it together.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn


def shard(model: nn.Module, blocks: nn.ModuleList, device: torch.device, world: int, *forwards: str) -> None:
    """Shard the parameters of `model` in place over `world` processes: each block by itself, the rest together.

    `forwards` are the names of methods other than `forward` that compute with the parameters.
    """
    # Imported here, so that a run of one process does not pay the 0.7 CPU seconds.
    from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method  # noqa: PLC0415

    mesh = init_device_mesh(device.type, (world,))
    for part in (*blocks, model):
        fully_shard(part, mesh=mesh)
    for name in forwards:
        register_fsdp_forward_method(model, name)


def reshard(model: nn.Module) -> None:
    """Release the parameters that a `forward` without a backward pass left gathered."""
    if hasattr(model, "reshard"):
        cast(Any, model).reshard()


def sum_gradients(model: nn.Module, *, wanted: bool) -> None:
    """Choose whether the next backward passes of a sharded model sum gradients over the processes."""
    cast(Any, model).set_requires_gradient_sync(wanted)


def is_sharded(tensor: Tensor) -> bool:
    """Return whether this process has only a part of `tensor`.

    It tests for a method instead of the class DTensor, so that DTensor is not imported for models that are not sharded.
    """
    return hasattr(tensor, "full_tensor")


def local(tensor: Tensor) -> Tensor:
    """Return this process's part of a sharded tensor, else `tensor`. Changing it in place changes `tensor`."""
    return cast(Tensor, cast(Any, tensor).to_local()) if is_sharded(tensor) else tensor


def first_row(tensor: Tensor) -> int:
    """Return the row of the whole tensor at which this process's part begins."""
    if not is_sharded(tensor):
        return 0
    mesh = cast(Any, tensor).device_mesh
    rows, number = -(-len(tensor) // int(mesh.size())), int(mesh.get_local_rank())
    return min(len(tensor), number * rows)
