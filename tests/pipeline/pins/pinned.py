"""Datasets that are pinned without a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.pipeline.pins.pinning import resolve_corpus, write_pins


def pin_corpus(root: Path, recipe: Recipe, wanted: Sequence[str], *, activate: bool = True) -> Corpus:
    """Resolve the dataset of `wanted` and write its pins to `corpus.lock`. With `activate` it becomes active."""
    return write_pins(resolve_corpus(root, recipe, wanted), activate=activate)
