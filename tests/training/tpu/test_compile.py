"""The step of a real recipe is compiled for TPUs that are elsewhere: what it needs of each is known before one is."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jax", reason="pip install -r tests/training/tpu/requirements.txt")
pytest.importorskip("libtpu", reason="pip install -r tests/training/tpu/requirements.txt")

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.training.tpu.compile import compile_for
from tests.training.world import tiny_recipe

SLICE = "v6e:2x2"
ROW_TOKENS = 4096


def test_loss_and_gradient_with_splash_attention_compile_for_a_v6e_slice() -> None:
    recipe = tiny_recipe(
        device="tpu", dtype="bfloat16", layers=1, hidden=256, heads=4, kv_heads=2, softcap=30.0,
        batch_rows=8, accumulate=2, structure_components="all", ngram_heads=1, ngram_table=1000,
        platform_embedding=True,
    )  # fmt: skip
    found = compile_for(SLICE, recipe, 8192, ROW_TOKENS)
    assert found.devices == 4 and 0 < found.bytes_a_device < 32e9
    assert found.text.count("splash_mha_fwd") and "splash_mha_dkv" in found.text
    assert "bf16[" in found.text and "all-reduce" in found.text


def recipe_with_states_and_messages(**size: Any) -> TrainingRecipe:
    """A Mamba-2 block, an attention block with relation bias, and messages between chunks."""
    return tiny_recipe(
        device="tpu", dtype="bfloat16", layers=2, batch_rows=4, relation_bias=True, state_space_every=2, **size
    )  # fmt: skip


def test_states_messages_and_relation_bias_compile_for_a_v6e_slice() -> None:
    recipe = recipe_with_states_and_messages(hidden=64, heads=2, state_space_size=16, tree_steps=1)
    found = compile_for(SLICE, recipe, 1024, 1024)
    assert found.devices == 4 and 0 < found.bytes_a_device < 1e9
    assert "while" in found.text, "the state goes from chunk to chunk of tokens in one loop"


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_states_messages_and_relation_bias_of_4096_tokens_compile_for_a_v6e_slice() -> None:
    recipe = recipe_with_states_and_messages(
        hidden=256, heads=4, state_space_size=64, tree_steps=3, structure_components="all"
    )
    found = compile_for(SLICE, recipe, 8192, ROW_TOKENS)
    print(f"{ROW_TOKENS} tokens: {found.bytes_a_device / 1e9:.2f} GB a device")
    assert found.devices == 4 and 0 < found.bytes_a_device < 32e9


def test_a_model_that_no_device_holds_is_rejected_before_any_is_rented() -> None:
    huge = tiny_recipe(device="tpu", hidden=8192, heads=64, layers=8, batch_rows=4)
    with pytest.raises(SpecError, match=r"model of the recipe; expected a step of 4 rows that fits.*what to do: lower"):
        compile_for(SLICE, huge, 131_072, ROW_TOKENS)


def test_a_topology_that_libtpu_does_not_know_is_named() -> None:
    with pytest.raises(SpecError, match=r"TPU topology; expected .*v6e:2x2.*; found 'v99:1x1'"):
        compile_for("v99:1x1", tiny_recipe(device="tpu"), 8192, ROW_TOKENS)
