"""The device of the environment opens with as many threads as there are workers."""

from __future__ import annotations

import pickle
import sys

import pytest

from megacpp_assets.compute.tokenizer_device import VARIABLE
from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.device import count_texts, load_encoder
from megacpp_assets.tokenizer.encoder import Encoder
from tests.tokenizer.conftest import RECIPE


@pytest.mark.parametrize("workers", [1, 3])
def test_an_encoder_has_a_thread_for_each_worker_and_keeps_them_when_pickled(
    published: Artifact, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setenv("MEGACPP_WORKERS", str(workers))
    encoder = load_encoder(published.directory)
    assert isinstance(encoder, Encoder) and encoder.threads == workers
    monkeypatch.delenv("MEGACPP_WORKERS")
    assert pickle.loads(pickle.dumps(encoder)).threads == workers


def test_invalid_worker_count_is_rejected(published: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEGACPP_WORKERS", "all")
    with pytest.raises(SpecError, match="MEGACPP_WORKERS"):
        load_encoder(published.directory)


def test_without_wgpu_a_gpu_is_rejected_with_the_extra_to_install(
    published: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "wgpu" or ".tokenizer.webgpu" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("megacpp_assets.contract.extras.find_spec", lambda name: None)
    monkeypatch.setenv(VARIABLE, "gpu")
    said = "extra gpu; expected the module wgpu; found none; what to do: pip install"
    with pytest.raises(EnvironmentLacks, match=said):
        load_encoder(published.directory)
    with pytest.raises(EnvironmentLacks, match=said):
        count_texts([b"int x;"], RECIPE)


def test_an_unknown_device_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "tpu")
    with pytest.raises(SpecError, match="cpu or gpu"):
        count_texts([b"x"], RECIPE)
