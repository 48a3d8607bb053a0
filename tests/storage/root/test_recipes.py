"""The recipes of a data root: kept once, found by their hash, and refused when they are no longer what they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.recipe.text import load_recipe, recipe_toml
from megacpp_assets.storage.root.recipes import keep_recipe, kept_recipe


def test_a_kept_recipe_is_found_by_its_hash_and_written_once(tmp_path: Path) -> None:
    recipe = load_recipe("sample", ["training.steps=7"])
    sha256 = keep_recipe(tmp_path, recipe)
    (file,) = (tmp_path / "recipes").iterdir()
    before = file.stat().st_mtime_ns
    assert keep_recipe(tmp_path, recipe) == sha256
    assert (kept_recipe(tmp_path, sha256), file.stat().st_mtime_ns) == (recipe, before)


@pytest.mark.parametrize("change", [("steps = 20", "steps = 21"), ("steps = 20", "steps = [")])
def test_a_changed_recipe_is_rejected(tmp_path: Path, change: tuple[str, str]) -> None:
    sha256 = keep_recipe(tmp_path, load_recipe("sample"))
    (file,) = (tmp_path / "recipes").iterdir()
    file.write_text(file.read_text().replace(*change))
    with pytest.raises(LineageGap, match="what to do: run `megacpp run --recipe"):
        kept_recipe(tmp_path, sha256)


def test_a_missing_recipe_is_rejected(tmp_path: Path) -> None:
    with pytest.raises((LineageGap, SpecError), match=r"the recipe that corpus\.lock names"):
        kept_recipe(tmp_path, "0" * 64)


def test_a_recipe_that_an_earlier_release_kept_has_defaults_for_keys_that_came_since(tmp_path: Path) -> None:
    text = recipe_toml(load_recipe("sample"))
    early = text.replace("own_weight = 4.0\n", "")
    assert early != text
    sha256 = sha256_bytes(early.encode())
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / f"{sha256}.toml").write_text(early)
    assert kept_recipe(tmp_path, sha256) == load_recipe("sample")


def test_a_recipe_of_another_release_is_rejected_with_advice(tmp_path: Path) -> None:
    sha256 = sha256_bytes(b'phases = ["4k"]\n')
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / f"{sha256}.toml").write_bytes(b'phases = ["4k"]\n')
    with pytest.raises(LineageGap, match="what to do: run `megacpp run --recipe"):
        kept_recipe(tmp_path, sha256)
