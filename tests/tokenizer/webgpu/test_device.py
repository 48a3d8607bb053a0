"""What runs the kernels: the adapter that is chosen, buffers that are kept, and prefix sums."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.pipeline import doctor
from megacpp_assets.tokenizer.webgpu import adapter
from megacpp_assets.tokenizer.webgpu.gpu import Gpu
from megacpp_assets.tokenizer.webgpu.pool import Pool
from megacpp_assets.tokenizer.webgpu.scan import scan_calls


def described(backend: str, kind: str, *features: str) -> SimpleNamespace:
    """What an adapter tells of itself."""
    info = {"backend_type": backend, "adapter_type": kind, "device": f"{kind} of {backend}", "description": "1.0"}
    return SimpleNamespace(info=info, features=set(features))


def open_among(monkeypatch: pytest.MonkeyPatch, *adapters: SimpleNamespace) -> SimpleNamespace:
    monkeypatch.setattr(adapter.wgpu.gpu, "enumerate_adapters_sync", lambda: list(adapters))
    return adapter.open_adapter.__wrapped__()


def test_a_card_is_chosen_before_the_driver_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    card = described("Vulkan", "DiscreteGPU", "subgroup")
    others = [described("Vulkan", "CPU", "subgroup"), described("OpenGL", "DiscreteGPU", "subgroup")]
    assert open_among(monkeypatch, *others, card) is card


def test_without_an_adapter_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentLacks, match=r"found no adapter.*apt-get install mesa-vulkan-drivers"):
        open_among(monkeypatch)
    with pytest.raises(EnvironmentLacks, match="found CPU of OpenGL"):
        open_among(monkeypatch, described("OpenGL", "CPU", "subgroup"))


def test_doctor_names_the_adapter_where_the_tokenizer_uses_it(gpu: Gpu) -> None:
    finding = doctor._adapter()
    assert (finding.name, finding.good, finding.needed) == ("adapter", True, True)
    assert finding.found == adapter.describe(adapter.open_adapter())


def test_a_buffer_is_kept_until_it_is_too_small_and_then_grows_by_half(gpu: Gpu) -> None:
    pool = Pool(gpu)
    first = pool.take("name", 1000)
    assert pool.take("name", 900) is first
    assert pool.take("name", 1001).size == 4 * 1500
    assert pool.take("name", 4000).size == 4 * 4000


def test_prefix_sums_over_more_blocks_than_a_workgroup_has_lanes(gpu: Gpu) -> None:
    values = np.random.default_rng(3).integers(0, 9, 100_003, dtype=np.uint32)
    buffer, lengths = gpu.upload(values), gpu.upload(np.array([len(values), 0], dtype=np.uint32))
    gpu.run(scan_calls(gpu, buffer, gpu.empty(len(values) // 256 + 1), lengths, len(values)))
    assert np.array_equal(gpu.read(buffer, len(values)), np.cumsum(values) - values)
    assert gpu.read(lengths, 1, at=1)[0] == values.sum()
