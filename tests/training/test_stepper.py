"""Which stepper a recipe gets, and what the machine must have for it."""

from __future__ import annotations

import sys

import pytest
import torch

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.training.network.model import GPT
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.optimizer import optimizer_for
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.stepper import stepper_for
from tests.cli.commands import exit_code
from tests.training.world import VOCABULARY, tiny_recipe


@pytest.fixture
def no_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)


@pytest.mark.usefixtures("no_jax")
def test_tpus_without_jax_are_rejected_with_the_extra_that_brings_it() -> None:
    recipe = tiny_recipe(device="tpu")
    model = GPT(model_config(recipe, VOCABULARY))
    optimizer = optimizer_for(recipe, dict(model.named_parameters()))
    with pytest.raises(
        EnvironmentLacks, match=r"training.device tpu; expected JAX .*pip install 'megacpp-assets\[tpu\]'"
    ):
        stepper_for(recipe, model, optimizer, Ranks(0, 1, torch.device("cpu")))


@pytest.mark.usefixtures("no_jax")
def test_compiling_for_them_is_rejected_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "launch", "compile", "v6e:2x2", "--recipe", "smoke") == 1
    assert "pip install 'megacpp-assets[tpu]'" in capsys.readouterr().err
