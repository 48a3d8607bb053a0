"""The kernels run under Triton's interpreter here, which has to be asked for before they are imported."""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"

import pytest
import torch

from megacpp_assets.tokenizer.gpu.device import INTERPRETER, open_device


@pytest.fixture(scope="session")
def device() -> torch.device:
    return open_device(INTERPRETER)
