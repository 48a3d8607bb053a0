"""The experiment on documents: arms that differ in what they name, and bits per byte of exactly the roots' tokens."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import _bits
import documents as bench
import numpy as np
import pytest
import torch

from megacpp_assets.contract.columns import ROLES
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE
from megacpp_assets.loader.rows import PackedRows
from megacpp_assets.megatron.sidecars.channels import ChannelValues
from megacpp_assets.repos.catalogue import load_catalogue
from megacpp_assets.training.network.model import GPT, ModelConfig, model_input
from megacpp_assets.training.network.structure import StructureConfig

BOS, VOCABULARY = 2, 30
TOKENS = np.array([BOS, 5, 6, 7, BOS, 8, 9, BOS, 10, 11, 12], dtype=np.int32)
ROLES_OF = np.array([0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1], dtype=np.uint8)
GROUP_OF = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1])
LENGTHS = np.arange(VOCABULARY, dtype=np.int64) * 10
"""An id of so many bytes."""


@pytest.fixture
def rows() -> PackedRows:
    """Two rows: documents of two groups, then one alone."""
    return PackedRows(8, np.array([0, 7, 11]), TOKENS, {ROLES: ChannelValues(ROLES_OF)})


@pytest.fixture
def model() -> GPT:
    torch.manual_seed(3)
    return GPT(ModelConfig(VOCABULARY, 1, 16, 2, StructureConfig(())))


def test_bytes_are_those_of_roots_by_whose_text_they_are(rows: PackedRows, model: GPT) -> None:
    with torch.no_grad():
        found = _bits.measured_bits(model, rows, np.array([0, 1]), GROUP_OF, LENGTHS)
    assert ROOT_ROLE == 0 and CONTEXT_ROLE == 1
    assert [each.bytes for each in found] == [10 * (6 + 7), 10 * (8 + 10 + 11)]


def test_what_is_paid_is_the_loss_of_training_with_context_that_weighs_nothing(rows: PackedRows, model: GPT) -> None:
    with torch.no_grad():
        found = _bits.measured_bits(model, rows, np.array([0, 1]), GROUP_OF, LENGTHS)
        whole = model(model_input(rows.batch(np.array([0, 1])), torch.device("cpu"), context_loss=0.0))
    assert sum(each.nats for each in found) == pytest.approx(float(whole), rel=1e-5)


def test_a_model_that_knows_nothing_pays_the_logarithm_of_its_vocabulary(rows: PackedRows, model: GPT) -> None:
    torch.nn.init.zeros_(model.embedding)
    with torch.no_grad():
        first, _ = _bits.measured_bits(model, rows, np.array([0]), GROUP_OF, LENGTHS)
    assert first.bits_per_byte == pytest.approx(2 * np.log2(VOCABULARY) / 130)


def test_the_recipes_of_the_corpora_differ_in_their_documents_alone(tmp_path: Path) -> None:
    recipes = bench.corpus_recipes(tmp_path, ["training.steps=7"])
    assert recipes.keys() == {arm.corpus for arm in bench.ARMS}
    recipes_of = {name: asdict(recipe) for name, recipe in recipes.items()}
    for recipe in recipes_of.values():
        del recipe["dataset"], recipe["semantic"]
    assert recipes_of["file"] == recipes_of["clustered"] == recipes_of["per_chunk"]
    assert all(recipe.training.steps == 7 for recipe in recipes.values())
    catalogue = load_catalogue(recipes["file"].catalogue, tmp_path)
    assert set(recipes["file"].repos) == catalogue.keys() >= {bench.UNSEEN}


def test_a_setting_that_cannot_be_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"training.*stepz"):
        bench.corpus_recipes(tmp_path, ["training.stepz=7"])


def test_corpora_whose_rows_are_less_full_take_more_steps_to_as_many_tokens(tmp_path: Path) -> None:
    recipes = bench.corpus_recipes(tmp_path, ["training.steps=60"])
    steps = bench.steps_of(recipes, {"file": 900_000, "per_chunk": 750_000, "clustered": 900_000})
    assert steps == {"file": 60, "per_chunk": 72, "clustered": 60}


def test_every_arm_is_trained_with_and_without_structure_for_each_seed() -> None:
    planned = bench.trials(3)
    assert len(planned) == len(set(planned)) == 3 * 2 * len(bench.ARMS)
    assert {(trial.arm, trial.seed) for trial in planned[:8]} == {(arm, 1) for arm in bench.FIRST}


def test_some_arms_alone_are_trained_seed_by_seed() -> None:
    arms = (bench.Arm("file"), bench.Arm("clustered", 0.0))
    planned = bench.trials(2, [arm.name for arm in arms], ["core"])
    assert planned == [bench.Trial(arm, "core", seed) for seed in (1, 2) for arm in arms]


def test_what_is_known_is_not_measured_again(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    bench.Results(file).add({"key": "a", "bits": 1.5})
    again = bench.Results(file)
    assert again.get("a") == {"key": "a", "bits": 1.5}
    assert again.get("b") is None


def test_means_stand_beside_those_of_plain_files_with_their_spread(capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[dict[str, Any]] = [
        {
            "arm": trial.arm.name,
            "trial": asdict(trial),
            "bits": dict.fromkeys(bench.CORPORA, dict.fromkeys(bench.TEXTS, 2.0 + trial.arm.context_loss + trial.seed)),
        }
        for trial in bench.trials(3)
    ]  # fmt: skip
    bench.tell(lines)
    figures = {line["figure"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert len(figures) == len(bench.STRUCTURE) * len(bench.CORPORA) * len(bench.TEXTS) * (2 * len(bench.ARMS) - 1)
    name = "unseen repository as file documents, structure core, clustered, context weighs 0.5"
    half = figures[name]
    assert half["ours"] == 4.5 and half["peer"] == 5 and half["spread"] == 1 and half["runs"] == 3
    behind = figures[f"{name}, less file of the same seed"]
    assert behind["ours"] == -0.5 and behind["spread"] == 0 and behind["runs"] == 3
