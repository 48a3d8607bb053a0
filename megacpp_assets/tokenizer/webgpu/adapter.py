"""Opens the adapter that runs the kernels: Vulkan first, and a card before a driver that runs on the CPU."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from typing import Any

import wgpu

from megacpp_assets.contract.errors import EnvironmentLacks

FEATURE = "subgroup"
_BACKENDS = ("Vulkan", "Metal", "D3D12")
_KINDS = ("DiscreteGPU", "IntegratedGPU", "VirtualGPU", "CPU")
_LIMITS = (
    "max-buffer-size",
    "max-storage-buffer-binding-size",
    "max-storage-buffers-per-shader-stage",
    "max-compute-workgroup-storage-size",
)
_INSTALL = (
    "install a driver (Debian: apt-get install mesa-vulkan-drivers runs the kernels on the CPU), "
    "or set MEGACPP_TOKENIZER_DEVICE=cpu"
)


@cache
def open_adapter() -> Any:
    """Return the best adapter with subgroup operations. `EnvironmentLacks` if there is none."""
    if "XDG_RUNTIME_DIR" not in os.environ:
        # The Vulkan loader prints a warning if this variable of window systems is not set. The kernels do not use it.
        os.environ["XDG_RUNTIME_DIR"] = tempfile.gettempdir()
    adapters = wgpu.gpu.enumerate_adapters_sync()
    suitable = [one for one in adapters if FEATURE in one.features and one.info["backend_type"] in _BACKENDS]
    if not suitable:
        found = ", ".join(describe(one) for one in adapters) or "no adapter"
        raise EnvironmentLacks(
            "GPU adapter", expected="a Vulkan, Metal or Direct3D 12 adapter with subgroups", found=found, do=_INSTALL
        )
    return min(suitable, key=_rank)


def open_device() -> Any:
    """Return a device of that adapter with the adapter's limits."""
    adapter = open_adapter()
    limits = {name: adapter.limits[name] for name in _LIMITS}
    return adapter.request_device_sync(required_features=[FEATURE], required_limits=limits)


def describe(adapter: Any) -> str:
    """Return name, backend and driver of an adapter."""
    info = adapter.info
    return f"{info['device']} ({info['backend_type']}, {info['description']})"


def _rank(adapter: Any) -> tuple[int, int]:
    kind = adapter.info["adapter_type"]
    return (_KINDS.index(kind) if kind in _KINDS else len(_KINDS), _BACKENDS.index(adapter.info["backend_type"]))
