"""Chooses the device that trains the tokenizer and encodes: `MEGACPP_TOKENIZER_DEVICE`, the CPU by default."""

from __future__ import annotations

import os
from typing import Final

from megacpp_assets.contract.errors import SpecError

VARIABLE: Final = "MEGACPP_TOKENIZER_DEVICE"
CPU: Final = "cpu"
GPU: Final = "gpu"
DEVICES: Final = (CPU, GPU)


def tokenizer_device() -> str:
    """Return the device that the environment names; `SpecError` for an unknown one."""
    name = os.environ.get(VARIABLE, CPU)
    if name not in DEVICES:
        raise SpecError(
            VARIABLE, expected=" or ".join(DEVICES), found=repr(name), do="correct the variable, or unset it"
        )
    return name
