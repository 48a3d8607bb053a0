"""Which device the kernels run on: a CUDA GPU, or Triton's interpreter, which runs the same kernels for the tests."""

from __future__ import annotations

import os
from importlib.util import find_spec

import torch

from megacpp_assets.contract.errors import EnvironmentLacks

CUDA = "cuda"
INTERPRETER = "interpreter"


def open_device(name: str) -> torch.device:
    """The torch device called `name`; `EnvironmentLacks` where it, or Triton, is not there. Never another one."""
    if find_spec("triton") is None:
        raise EnvironmentLacks("Triton", expected="the package triton", found="none", do="pip install triton==3.7.1")
    if name == CUDA and torch.cuda.is_available():
        return torch.device(CUDA)
    if name == INTERPRETER and os.environ.get("TRITON_INTERPRET") == "1":
        return torch.device("cpu")
    raise EnvironmentLacks(
        f"tokenizer device {name!r}",
        expected="a CUDA GPU that torch sees, or 'interpreter' with TRITON_INTERPRET=1",
        found=f"torch {torch.__version__}, {torch.cuda.device_count()} GPUs",
        do="install a CUDA build of torch, or set MEGACPP_TOKENIZER_DEVICE=cpu",
    )
