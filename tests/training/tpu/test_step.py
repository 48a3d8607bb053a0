"""A step by XLA is the step by torch: the same losses and weights, documents apart, one compilation for all batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

jax = pytest.importorskip("jax", reason="pip install -r tests/training/tpu/requirements.txt")

from megacpp_assets.contract.errors import SpecError  # noqa: E402
from megacpp_assets.contract.recipe.training import TrainingRecipe  # noqa: E402
from megacpp_assets.loader.rows import RowBatch  # noqa: E402
from megacpp_assets.training.network.model import GPT, loss_weights  # noqa: E402
from megacpp_assets.training.network.size import model_config  # noqa: E402
from megacpp_assets.training.optimizer import Optimizer, optimizer_for  # noqa: E402
from megacpp_assets.training.processes.ranks import Ranks  # noqa: E402
from megacpp_assets.training.stepper import Stepper, TorchStepper  # noqa: E402
from megacpp_assets.training.tpu.attention import attention_for  # noqa: E402
from megacpp_assets.training.tpu.batch import arrays_of  # noqa: E402
from megacpp_assets.training.tpu.chunks import enriched, membership, relation_bias  # noqa: E402
from megacpp_assets.training.tpu.network import hidden  # noqa: E402
from megacpp_assets.training.tpu.step import placement  # noqa: E402
from megacpp_assets.training.tpu.stepper import TpuStepper  # noqa: E402
from tests.training.chunked import with_chunks  # noqa: E402
from tests.training.platformed import with_platforms  # noqa: E402
from tests.training.world import ROW_TOKENS, VOCABULARY, batch_of, tiny_recipe  # noqa: E402

FORMS: dict[str, dict[str, Any]] = {
    "tokens alone": {"structure_components": "none"},
    "all channels": {"structure_components": "all", "layers": 2},
    "shared keys, bounded scores, n-grams": {"kv_heads": 1, "softcap": 5.0, "ngram_heads": 2, "ngram_table": 1000},
    "platforms": {"platform_embedding": True},
    "chunks": {"tree_steps": 2, "relation_bias": True, "softcap": 5.0, "kv_heads": 1},
    "states": {"state_space_every": 2, "layers": 2, "state_space_size": 8},
    "parts of a batch": {"batch_rows": 4, "accumulate": 2, "context_loss": 0.5},
}


def recipe_of(**changes: Any) -> TrainingRecipe:
    return tiny_recipe(device="tpu", **changes)


def parts_of(recipe: TrainingRecipe, seed: int, row_tokens: int = ROW_TOKENS) -> list[RowBatch]:
    """Parts of a batch: rows of random documents, whose tokens are roots' or context's."""
    rng = np.random.default_rng(seed)

    def document() -> list[int]:
        return [2, *rng.integers(46, VOCABULARY, int(rng.integers(1, row_tokens // 4))).tolist()]

    parts = []
    for _ in range(recipe.accumulate):
        rows = [
            [document() for _ in range(int(rng.integers(1, 4)))] for _ in range(recipe.batch_rows // recipe.accumulate)
        ]
        batch = with_platforms(batch_of(*rows, row_tokens=row_tokens, structure_seed=seed), seed)
        batch = with_chunks(batch, seed) if recipe.needs_chunks else batch
        batch.roles[:] = rng.integers(0, 2, batch.roles.shape)
        parts.append(batch)
    return parts


def made(recipe: TrainingRecipe) -> tuple[GPT, Optimizer]:
    """A model none of whose parts adds nothing, as parts that were never trained do."""
    torch.manual_seed(3)
    model = GPT(model_config(recipe, VOCABULARY))
    with torch.no_grad():
        for name, each in model.named_parameters():
            if name.endswith(".up") or name in ("platforms.table", "relation_bias.table"):
                each.normal_(std=0.1)
    return model, optimizer_for(recipe, dict(model.named_parameters()))


def weight_of(parts: list[RowBatch], recipe: TrainingRecipe) -> float:
    return float(sum(loss_weights(part, recipe.context_loss).sum() for part in parts))


def stepped(stepper: Stepper, recipe: TrainingRecipe, steps: int) -> list[float]:
    losses = []
    for seed in range(steps):
        parts = parts_of(recipe, seed)
        losses.append(stepper.step(parts, weight_of(parts, recipe), 1e-2))
    stepper.bring_home()
    return losses


@pytest.mark.parametrize("changes", FORMS.values(), ids=FORMS)
def test_losses_weights_and_moments_are_those_of_torch(changes: dict[str, Any]) -> None:
    recipe = recipe_of(**changes)
    (theirs, their_optimizer), (ours, our_optimizer) = made(recipe), made(recipe)
    expected = stepped(TorchStepper(recipe, theirs, their_optimizer, Ranks(0, 1, torch.device("cpu"))), recipe, 4)
    found = stepped(TpuStepper(recipe, ours, our_optimizer), recipe, 4)
    assert found == pytest.approx(expected, rel=1e-5)
    assert our_optimizer.steps == 4
    pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
    assert all(torch.allclose(one, other, atol=1e-4) for one, other in pairs)
    for name, moment in our_optimizer.state().items():
        torch.testing.assert_close(moment, their_optimizer.state()[name], atol=1e-4, rtol=1e-3)


def test_products_of_bfloat16_train_as_well() -> None:
    recipe = recipe_of(dtype="bfloat16")
    found = stepped(TpuStepper(recipe, *made(recipe)), recipe, 3)
    whole = stepped(TpuStepper(recipe_of(), *made(recipe)), recipe, 3)
    assert found == pytest.approx(whole, rel=2e-2)  # XLA leaves rounding out on a CPU; see test_compile for a TPU


def test_no_gradient_of_a_document_reaches_another() -> None:
    recipe = recipe_of(structure_components="all", ngram_heads=1, ngram_table=100)
    model, _ = made(recipe)
    batch = batch_of([[2, 50, 51, 52], [2, 60, 61, 62, 63]], row_tokens=16, structure_seed=1)
    weights = {name: each.detach().numpy() for name, each in model.named_parameters()}
    arrays = arrays_of(batch, model.config, 1.0)
    attend = attention_for(placement(jax.devices("cpu")[:1], recipe).mesh, recipe.heads, 16, 0.0)
    second = np.arange(4, 9)

    def of_second(embedding: Any) -> Any:
        return hidden({**weights, "embedding": embedding}, arrays, model.config, attend)[0, second].sum()

    gradient = np.asarray(jax.grad(of_second)(weights["embedding"]))
    assert (gradient[[50, 51, 52]] == 0).all() and (gradient[[60, 61, 62, 63]] != 0).any(axis=1).all()


def test_twenty_batches_of_every_kind_take_one_compilation_and_another_shape_is_rejected() -> None:
    recipe = recipe_of(
        structure_components="all", ngram_heads=1, ngram_table=100, tree_steps=1, relation_bias=True,
        state_space_every=2, layers=2,
    )  # fmt: skip
    stepper = TpuStepper(recipe, *made(recipe))
    compiled: list[str] = []

    def heard(event: str, _seconds: float, **_more: object) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(event)

    stepped(stepper, recipe, 1)
    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        stepped(stepper, recipe, 20)
        assert not compiled
        longer = parts_of(recipe, 0, 2 * ROW_TOKENS)
        with pytest.raises(TypeError, match=str(2 * ROW_TOKENS)):
            stepper.step(longer, weight_of(longer, recipe), 1e-2)
        parts = parts_of(recipe, 0)
        del parts[0].structure["dep_levels"]
        stepper.step(parts, weight_of(parts, recipe), 1e-2)
        assert not compiled, "a missing column is filled in before the step"
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)


def test_chunks_of_tokens_follow_from_blocks_where_ids_are_missing() -> None:
    recipe = recipe_of(tree_steps=1)
    for seed in range(20):
        arrays = arrays_of(parts_of(recipe, seed)[0], made(recipe)[0].config, 1.0)
        without = {name: each for name, each in arrays.items() if not name.startswith("token_chunk")}
        assert np.array_equal(membership(arrays), membership(without))


def test_no_gradient_of_a_document_reaches_another_by_a_state() -> None:
    recipe = recipe_of(structure_components="none", state_space_every=1, state_space_size=4)
    model, _ = made(recipe)
    batch = batch_of([[2, 50, 51, 52], [2, 60, 61, 62, 63]], row_tokens=16)
    weights = {name: each.detach().numpy() for name, each in model.named_parameters()}
    arrays = arrays_of(batch, model.config, 1.0)
    attend = attention_for(placement(jax.devices("cpu")[:1], recipe).mesh, recipe.heads, 16, 0.0)

    def of_second(embedding: Any) -> Any:
        return hidden({**weights, "embedding": embedding}, arrays, model.config, attend)[0, 4:9].sum()

    gradient = np.asarray(jax.grad(of_second)(weights["embedding"]))
    assert (gradient[[50, 51, 52]] == 0).all() and (gradient[[60, 61, 62, 63]] != 0).any(axis=1).all()


def test_rows_that_cannot_be_shared_evenly_are_rejected() -> None:
    devices = jax.devices("cpu")[:1] * 4
    with pytest.raises(SpecError, match=r"training.batch_rows; expected a multiple of 1 parts x 4 devices; found 2"):
        placement(devices, recipe_of())


def test_chunks_lower_to_products_alone_with_their_gradients() -> None:
    recipe = recipe_of(tree_steps=2, relation_bias=True)
    model, _ = made(recipe)
    weights = {name: each.detach().numpy() for name, each in model.named_parameters()}
    arrays = arrays_of(parts_of(recipe, 1)[0], model.config, 1.0)
    x = np.ones((*arrays["input_ids"].shape, recipe.hidden), np.float32)

    def total(weights: Any, x: Any) -> Any:
        return enriched(weights, x, arrays, 2).sum() + relation_bias(weights["relation_bias.table"], arrays).sum()

    text = jax.jit(jax.grad(total, (0, 1))).lower(weights, x).as_text()
    assert "dot_general" in text
    assert [word for word in ("top_k", "scatter", "sort", "gather", "nonzero", "while") if word in text] == []


def test_a_relation_bias_of_rows_too_long_for_dense_scores_is_rejected() -> None:
    mesh = placement(jax.devices("cpu")[:1], recipe_of()).mesh
    with pytest.raises(SpecError, match="rows of a relation bias; expected at most 8192 tokens"):
        attention_for(mesh, 2, 16_384, 0.0, biased=True)
