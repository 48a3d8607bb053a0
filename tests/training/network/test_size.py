"""The models that recipes describe: built without memory, of the size that their files say."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from importlib import resources
from typing import Any

import pytest
import torch

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.text import SHIPPED, load_recipe
from megacpp_assets.training.network.model import GPT, ModelConfig
from megacpp_assets.training.network.size import model_config, parameter_count, require_memory, without_values


@pytest.mark.parametrize("name", SHIPPED)
def test_the_model_of_every_shipped_recipe_can_be_built(name: str) -> None:
    assert parameter_count(load_recipe(name)) > 0


@pytest.mark.parametrize(
    ("name", "gpus", "least", "most"), [("upstream_1gpu", 1, 4e8, 4.2e8), ("upstream_8gpu", 8, 1.5e9, 1.7e9)]
)
def test_a_recipe_for_gpus_has_a_process_for_each_and_states_its_model_size(
    name: str, gpus: int, least: float, most: float
) -> None:
    recipe = load_recipe(name)
    assert (recipe.training.device, recipe.training.processes) == ("cuda", gpus)
    text = resources.files("megacpp_assets.recipes").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    said = re.search(r"([\d,]+) parameters", text)
    assert said is not None and int(said[1].replace(",", "")) == parameter_count(recipe)
    assert least < parameter_count(recipe) < most


def test_the_count_is_that_of_a_model_with_values() -> None:
    recipe = load_recipe("smoke")
    model = GPT(model_config(recipe.training, recipe.tokenizer.vocabulary_size))
    assert all(parameter.device == torch.device("cpu") for parameter in model.parameters())
    assert parameter_count(recipe) == sum(parameter.numel() for parameter in model.parameters())


def test_recipes_for_gpus_share_the_data_of_upstream() -> None:
    whole, *others = (load_recipe(name) for name in ("upstream", "upstream_1gpu", "upstream_8gpu"))
    for other in others:
        assert (other.dataset, other.repos, other.tokenizer) == (whole.dataset, whole.repos, whole.tokenizer)


def test_a_model_larger_than_memory_is_rejected_before_it_is_built() -> None:
    recipe = replace(load_recipe("smoke").training, hidden=2**17, layers=100)
    with pytest.raises(SpecError, match=r"model of the recipe; .* the memory of this machine; found [\d.]+ GB"):
        require_memory(model_config(recipe, 65536), torch.device("cpu"), 1)
    smaller = replace(load_recipe("smoke").training, ngram_heads=1, state_space_every=2)
    require_memory(model_config(smaller, 65536), torch.device("cpu"), 1)


@pytest.mark.parametrize(
    ("changes", "crosses"),
    [
        ({"device": "cuda"}, True),
        ({"device": "cuda", "fast_convolution": False}, False),
        ({"device": "cuda", "scheduler": "dp_balanced"}, False),
        ({"device": "cpu"}, False),
        ({"device": "cpu", "fast_convolution": True}, False),
    ],
)
def test_the_convolution_crosses_documents_by_default_on_cuda_alone(changes: dict[str, Any], crosses: bool) -> None:
    recipe = replace(load_recipe("smoke").training, state_space_every=2, **changes)
    assert model_config(recipe, 65536).state_space.fast_convolution is crosses


def test_the_copy_that_is_being_saved_counts() -> None:
    recipe = replace(load_recipe("smoke").training, ngram_heads=1)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    def config(table: int) -> ModelConfig:
        return model_config(replace(recipe, ngram_table=table), 8192)

    def weights(table: int) -> int:
        return sum(each.nbytes for each in without_values(config(table)).parameters())

    a_thousand = weights(2000) - weights(1000)
    eighth, fifth = (1000 * memory // share // a_thousand for share in (8, 5))
    require_memory(config(eighth), torch.device("cpu"), 1)
    with pytest.raises(SpecError, match="moments of 1 processes, and a copy to save"):
        require_memory(config(fifth), torch.device("cpu"), 1)
    with pytest.raises(SpecError, match="moments of 2 processes, and a copy to save"):
        require_memory(config(eighth), torch.device("cpu"), 2)
    require_memory(config(eighth), torch.device("cpu"), 2, parts=2)
