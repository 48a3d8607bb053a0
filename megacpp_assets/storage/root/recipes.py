"""Keeps every recipe that a run used in the data root, under its hash, so that the lock can name it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.recipe.text import parse_recipe, recipe_sha256, recipe_toml
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.root.layout import RECIPES


def keep_recipe(root: Path, recipe: Recipe) -> str:
    """Store the recipe unless it exists; return its hash."""
    sha256 = recipe_sha256(recipe)
    path = recipe_path(root, sha256)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, recipe_toml(recipe).encode())
    return sha256


def kept_recipe(root: Path, sha256: str) -> Recipe:
    """Return the recipe with this hash. `LineageGap` if it is missing, was changed, or is from another release.

    A key that was added later has its default.
    """
    path = recipe_path(root, sha256)
    try:
        data = path.read_bytes()
        if sha256_bytes(data) != sha256:
            raise LineageGap(str(path), expected=f"a recipe of sha256 {sha256}", found=sha256_bytes(data), do=_DO)
        return parse_recipe(tomllib.loads(data.decode()), str(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, SpecError) as error:
        found = error.cause if isinstance(error, SpecError) else str(error)
        raise LineageGap(str(path), expected="the recipe that corpus.lock names", found=found, do=_DO) from error


_DO = "run `megacpp run --recipe` with the recipe of this dataset, which writes it again"


def recipe_path(root: Path, sha256: str) -> Path:
    """Return the file of the recipe with this hash."""
    return root / RECIPES / f"{sha256}.toml"
