"""Recipes as text: shipped ones are whole, a wrong key or value is one sentence with its path, and nothing is lost."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe import Recipe, SemanticRecipe, TokenizerRecipe, TrainingRecipe
from megacpp_assets.contract.recipe_text import (
    SHIPPED,
    differences,
    load_recipe,
    parse_recipe,
    recipe_sha256,
    recipe_toml,
)
from megacpp_assets.contract.specials import VOCABULARY_SIZE

SMALL = """
dataset = "mine"
catalogue = "sample"
repos = ["sample-kernel"]
phases = ["4k"]
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A recipe file of a person's own."""
    file = tmp_path / "mine.toml"
    file.write_text(SMALL)
    return file


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_recipe_is_whole_and_reads_back_as_it_is_written(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.repos and recipe.tokenizer.vocabulary_size <= VOCABULARY_SIZE
    assert parse_recipe(tomllib.loads(recipe_toml(recipe)), name) == recipe


def test_a_file_of_a_persons_own_is_followed_with_defaults_for_what_it_leaves_out(mine: Path) -> None:
    recipe = load_recipe(str(mine))
    assert (recipe.dataset, recipe.training, recipe.semantic) == ("mine", TrainingRecipe(), SemanticRecipe())


def test_a_catalogue_beside_the_recipe_is_found_from_anywhere(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine.write_text(SMALL.replace('"sample"', '"own.toml"', 1))
    monkeypatch.chdir("/")
    assert load_recipe(str(mine)).catalogue == str(mine.parent / "own.toml")


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("training.steps=2000", "training.steps", 2000),
        ("training.learning_rate=1", "training.learning_rate", 1.0),
        ("semantic.configure=true", "semantic.configure", True),
        ("dataset=other", "dataset", "other"),
        ('phases=["16k"]', "phases", ("16k",)),
    ],
)
def test_a_setting_changes_one_key(mine: Path, setting: str, key: str, value: object) -> None:
    plain, changed = load_recipe(str(mine)), load_recipe(str(mine), [setting])
    assert [(name, second) for name, _, second in differences(plain, changed)] == [(key, value)]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("training.stepz=1", "training.stepz; expected one of layers, .*; found an unknown key"),
        ("training.steps=many", "training.steps; expected a valid integer; found 'many'"),
        ("training.steps=true", "training.steps; expected a valid integer; found True"),
        ("semantic.configure=1", "semantic.configure; expected a valid boolean; found 1"),
        ("colour=red", "colour; expected one of dataset, .*; found an unknown key"),
        ("training=3", "training; expected .*; found 3"),
        ("tokenizer.vocabulary_size=7", "tokenizer.vocabulary_size; expected at least 7200; found 7"),
        ('phases=["5k"]', "phases; expected some of 4k, .*; found '5k'"),
        ("repos=[]", "repos; expected at least one, each once; found none"),
        ("dataset=../x", "dataset; expected 1 to 100 letters"),
        ("training.steps", "--set; expected KEY=VALUE"),
        ("dataset.name=x", "--set dataset.name; expected a key of a section"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_path_of_its_key(mine: Path, setting: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        load_recipe(str(mine), [setting])


def test_a_missing_key_is_named(mine: Path) -> None:
    mine.write_text(SMALL.replace('dataset = "mine"', ""))
    with pytest.raises(SpecError, match=f"{mine}: dataset; expected a value; found nothing"):
        load_recipe(str(mine))


@pytest.mark.parametrize("name", ["../etc/passwd", "nonsense"])
def test_a_recipe_that_is_not_there_is_refused_with_the_shipped_ones(name: str) -> None:
    with pytest.raises(SpecError, match="one of sample, smoke, upstream, or the path of a TOML file"):
        load_recipe(name)


@pytest.mark.parametrize("data", [b"dataset = [", b"\xff", b"#" * (2 << 20)])
def test_what_is_no_recipe_is_refused(mine: Path, data: bytes) -> None:
    mine.write_bytes(data)
    with pytest.raises(SpecError, match=r"mine\.toml"):
        load_recipe(str(mine))


@given(
    st.builds(
        Recipe,
        dataset=st.from_regex(r"[A-Za-z0-9_]{1,20}", fullmatch=True),
        catalogue=st.sampled_from(["sample", "upstream"]),
        repos=st.lists(st.text(min_size=1), min_size=1, max_size=3, unique=True).map(tuple),
        phases=st.just(("4k", "64k")),
        tokenizer=st.builds(TokenizerRecipe, st.integers(7200, VOCABULARY_SIZE)),
        training=st.builds(TrainingRecipe, learning_rate=st.floats(1e-9, 1e9)),
    )
)
def test_every_recipe_survives_its_text(recipe: Recipe) -> None:
    assert parse_recipe(tomllib.loads(recipe_toml(recipe)), "text") == recipe


def test_the_hash_follows_what_a_recipe_says_and_not_how_it_was_written(mine: Path) -> None:
    plain = load_recipe(str(mine))
    mine.write_text(SMALL + "# a remark\n[training]\nsteps = 100\n")
    assert recipe_sha256(load_recipe(str(mine))) == recipe_sha256(plain)
    assert recipe_sha256(replace(plain, dataset="other")) != recipe_sha256(plain)
