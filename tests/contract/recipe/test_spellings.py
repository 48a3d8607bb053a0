"""The seed's names of recipe flags stand for our keys, in files and in settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.text import changed_recipe, load_recipe

FLAGS = ["training.relation_bias_enabled", "training.tree_ffn_enabled", "training.platform_embed_enabled"]


def values_of(settings: list[str], name: str = "sample") -> tuple[bool, int, bool]:
    training = load_recipe(name, settings).training
    return training.relation_bias, training.tree_steps, training.platform_embedding


def test_flags_in_settings_stand_for_our_keys() -> None:
    assert values_of([f"{flag}=true" for flag in FLAGS]) == (True, 3, True)
    assert values_of([f"{flag}=false" for flag in FLAGS]) == (False, 0, False)
    recipe = load_recipe("sample", ["training.tree_steps=5", "training.relation_bias=true"])
    assert changed_recipe(recipe, ["training.tree_ffn_enabled=true"]).training.tree_steps == 3
    assert changed_recipe(recipe, ["training.relation_bias_enabled=false"]).training.relation_bias is False


def file_with(folder: Path, *lines: str) -> str:
    path = folder / "mine.toml"
    text = ['dataset = "x"', 'catalogue = "sample"', 'repos = ["fmt"]', 'curriculum = ["4k"]', "[training]", *lines]
    path.write_text("\n".join(text))
    return str(path)


def test_flags_in_a_file_stand_for_our_keys(tmp_path: Path) -> None:
    lines = [f"{flag.partition('.')[2]} = true" for flag in FLAGS]
    assert values_of([], file_with(tmp_path, *lines)) == (True, 3, True)
    # A setting changes what the file says, in either spelling.
    assert values_of(["training.tree_steps=1"], file_with(tmp_path, *lines)) == (True, 1, True)


def test_a_flag_beside_its_key_or_without_a_truth_value_is_rejected(tmp_path: Path) -> None:
    path = file_with(tmp_path, "tree_ffn_enabled = true", "tree_steps = 2")
    with pytest.raises(
        SpecError, match=r"training.tree_ffn_enabled; expected only one of tree_ffn_enabled and training.tree_steps"
    ):
        load_recipe(path)
    with pytest.raises(SpecError, match=r"training.relation_bias_enabled; expected true or false; found 1"):
        load_recipe("sample", ["training.relation_bias_enabled=1"])
