"""The recipes of a data root: kept once, found by their hash, and refused when they are no longer what they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.recipe_text import load_recipe
from megacpp_assets.storage.recipes import keep_recipe, kept_recipe


def test_a_kept_recipe_is_found_by_its_hash_and_written_once(tmp_path: Path) -> None:
    recipe = load_recipe("sample", ["training.steps=7"])
    sha256 = keep_recipe(tmp_path, recipe)
    (file,) = (tmp_path / "recipes").iterdir()
    before = file.stat().st_mtime_ns
    assert keep_recipe(tmp_path, recipe) == sha256
    assert (kept_recipe(tmp_path, sha256), file.stat().st_mtime_ns) == (recipe, before)


@pytest.mark.parametrize("change", [("steps = 20", "steps = 21"), ("steps = 20", "steps = [")])
def test_a_changed_recipe_is_refused(tmp_path: Path, change: tuple[str, str]) -> None:
    sha256 = keep_recipe(tmp_path, load_recipe("sample"))
    (file,) = (tmp_path / "recipes").iterdir()
    file.write_text(file.read_text().replace(*change))
    with pytest.raises(LineageGap, match="what to do: megacpp run --recipe"):
        kept_recipe(tmp_path, sha256)


def test_a_missing_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises((LineageGap, SpecError), match=r"the recipe that corpus\.lock names"):
        kept_recipe(tmp_path, "0" * 64)
