"""The model and its step on TPUs, by JAX: the weights, names and checkpoints are those of the other devices."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import EnvironmentLacks

PLATFORM_VARIABLE: Final = "JAX_PLATFORMS"
"""JAX's own. Whoever sets it to "cpu" has XLA compute on this machine's processors, as the tests do."""
_CHIPS: Final = ("accel[0-9]*", "vfio/[0-9]*")
"""Files below /dev of a chip, by generation."""


def require_jax(what: str) -> None:
    """`EnvironmentLacks` where the extra that `what` needs is not installed."""
    if find_spec("jax") is None:
        do = "pip install 'megacpp-assets[tpu]'"
        raise EnvironmentLacks(what, expected="JAX and libtpu", found="no module jax", do=do)


def require_tpus() -> None:
    """`EnvironmentLacks` on a machine that lacks JAX or has no TPU. JAX itself, which takes seconds, is not loaded."""
    require_jax("training.device tpu")
    if os.environ.get(PLATFORM_VARIABLE) == "cpu" or any(chip for name in _CHIPS for chip in Path("/dev").glob(name)):
        return
    do = "launch it where there are (launch.launcher cloud_tpu or gke_tpu), or set training.device"
    raise EnvironmentLacks("training.device tpu", expected="TPUs of this machine", found="none", do=do)
