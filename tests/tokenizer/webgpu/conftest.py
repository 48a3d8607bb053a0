"""One device for all tests: its kernels are compiled once."""

from __future__ import annotations

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.tokenizer.webgpu.gpu import Gpu, shared_gpu


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    try:
        return shared_gpu()
    except EnvironmentLacks:
        pytest.skip("no GPU adapter (apt-get install mesa-vulkan-drivers)")
