"""What a person reads of a recipe: every key has a note, and a commented recipe is the same recipe."""

from __future__ import annotations

import tomllib

from megacpp_assets.contract.recipe.commented import commented_toml
from megacpp_assets.contract.recipe.key import notes
from megacpp_assets.contract.recipe.text import load_recipe, parse_recipe
from megacpp_assets.contract.recipe.whole import Recipe


def test_every_key_has_a_meaning_and_allowed_values() -> None:
    assert all(note.meaning.endswith(".") and note.allowed for _, _, note in notes(Recipe))


def test_a_commented_recipe_is_the_same_and_says_what_a_key_means() -> None:
    recipe = load_recipe("smoke")
    text = commented_toml(recipe)
    assert parse_recipe(tomllib.loads(text), "again") == recipe
    above = text[: text.index("\nbatch_rows = ")].splitlines()[-2:]
    assert above[0] == "# Rows of a step."
    assert above[1] == "#   unit: rows; default: 1; allowed: at least 1; a multiple of processes x accumulate"
    assert all(len(line) <= 120 for line in text.splitlines() if line.startswith("#"))
