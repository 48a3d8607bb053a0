"""The phase `structure` differs from `4k`: flags, channels and chunks, on the weights of the phase before it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.loader.rows import open_rows
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.root import layout
from megacpp_assets.training.checkpoints.checkpoint import load_weights
from megacpp_assets.training.network.model import GPT, model_input
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.spec import checkpoint_target
from tests.loader.rows_artifact import DATASET, MIXTURE
from tests.training.test_loop import run
from tests.training.world import ROW_TOKENS, VOCABULARY, tiny_recipe, tiny_root, tiny_spec

PHASES = 'curriculum=["4k", "structure", "16k"]'


def test_a_structure_aware_phase_has_its_own_flags_and_channels() -> None:
    recipe = load_recipe("sample", [PHASES])
    plain, aware, later = (recipe.training_of(name) for name in recipe.curriculum)
    assert plain == recipe.training and not plain.needs_chunks
    assert (aware.relation_bias, aware.tree_steps, aware.structure_components) == (True, 3, "all")
    assert later == aware, "its weights reach the phase after it"
    alone = load_recipe("sample", [PHASES, "training.from_previous_phase=false", "training.tree_steps=1"])
    assert alone.training_of("16k") == alone.training and alone.training_of("structure").tree_steps == 1
    named = load_recipe("sample", [PHASES, "training.structure_components=none"]).training_of("structure")
    assert named.structure_components == "none"
    assert load_recipe("sample", [PHASES, "phases.structure.structure_aware=false"]).training_of("structure") == plain


def test_a_phase_that_cannot_be_structure_aware_is_rejected_with_the_recipe() -> None:
    with pytest.raises(SpecError, match=r"training\.relation_bias; expected false where training\.attention is varlen"):
        load_recipe("sample", [PHASES, "training.attention=varlen"])


def test_a_structure_aware_phase_starts_as_the_model_of_the_previous_phase(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path), steps=4)
    assert run(spec)
    made = open_artifact(spec.root, checkpoint_target(spec, 4).path)
    rows = open_rows(open_artifact(spec.root, layout.megatron_path(DATASET, MIXTURE)), DATASET, chunks=True)
    given = model_input(rows.batch([0, 1]), torch.device("cpu"))
    torch.manual_seed(5)
    before, aware = (
        GPT(model_config(each, VOCABULARY, ROW_TOKENS)) for each in (spec.recipe, spec.recipe.structure_aware())
    )
    load_weights(made, before)
    load_weights(made, aware)
    torch.testing.assert_close(aware.logits(given), before.logits(given), rtol=0, atol=1e-6)
    aware(given).backward()
    assert aware.structure is not None and aware.structure.scale.grad is not None
    assert (aware.structure.scale.grad != 0).all(), "further channels train from the first step"


def test_weights_of_another_model_are_rejected(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path), steps=4)
    assert run(spec)
    made = open_artifact(spec.root, checkpoint_target(spec, 4).path)
    for changes in ({"layers": 2}, {"hidden": 32}, {"structure_components": "none"}, {"ngram_heads": 1}):
        with pytest.raises(LineageGap, match="expected the tensors of this model"):
            load_weights(made, GPT(model_config(tiny_recipe(**changes), VOCABULARY, ROW_TOKENS)))
