"""Describes torch and the accelerators of this machine, as text."""

from __future__ import annotations

import torch


def accelerators() -> list[str]:
    """Return name and memory of each CUDA device, in torch's order; empty if torch can use none."""
    devices = [torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count())]
    return [f"{device.name}, {device.total_memory / 1e9:.0f} GB" for device in devices]


def torch_build() -> str:
    """Return the version of torch, and the CUDA release that it was built for."""
    cuda = torch.version.cuda
    return f"{torch.__version__}, built for CUDA {cuda}" if cuda else f"{torch.__version__}, built without CUDA"
