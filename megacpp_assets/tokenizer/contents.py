"""Assembles the contents of a tokenizer artifact, from a model that was just trained or from a registry commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import LineageGap, TokenizerDrift
from megacpp_assets.contract.lock.corpus_lock import TokenizerPin
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.storage.root.layout import REGISTRY
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE, load_model, transformers_files
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import BPE_MODEL, GOLDEN_TEXTS, LOCK_FILE, Golden, TokenizerLock
from megacpp_assets.tokenizer.model import Model
from megacpp_assets.tokenizer.registry import read_committed
from megacpp_assets.tokenizer.report.page import PAGE_FILE, quality_page
from megacpp_assets.tokenizer.report.statistics import STATISTICS_FILE, Statistics
from megacpp_assets.tokenizer.vocabulary.fixed import special_ids
from megacpp_assets.tokenizer.whitespace import whitespace_recipe

RECIPE_FILE = "recipe.json"
CORPUS_FILE = "corpus.json"
_DO = f"put {REGISTRY} back from a copy of it; or megacpp tokenizer pin another commit; or megacpp tokenizer train"


@dataclass(frozen=True, slots=True)
class Contents:
    """The files of a tokenizer artifact, and its statistics."""

    files: Mapping[str, bytes]
    stats: Mapping[str, Any]


def contents_of(
    commit: str, recipe: TokenizerRecipe, encoder: Encoder, data: bytes, statistics: Statistics
) -> Contents:
    """Return the artifact's contents for the tokenizer that `commit` holds as `data`."""
    lock = TokenizerLock(
        model=BPE_MODEL,
        commit=commit,
        sha256=sha256_bytes(data),
        size=len(data),
        recipe=recipe,
        special_ids=special_ids(),
        goldens=tuple(Golden(text, tuple(encoder.encode_batch([text]).ids.tolist())) for text in GOLDEN_TEXTS),
    )
    files = {
        TOKENIZER_FILE: data,
        LOCK_FILE: lock.to_bytes(),
        STATISTICS_FILE: statistics.to_bytes(),
        PAGE_FILE: quality_page(statistics).encode(),
        **transformers_files(),
    }
    return Contents(files, {"vocabulary_size": recipe.vocabulary_size, **_stats(statistics, commit)})


def committed_recipe(root: Path, commit: str) -> tuple[str, TokenizerRecipe]:
    """Return the dataset and the recipe of a registry commit. `LineageGap` if the registry lacks it."""
    raw = json.loads(read_committed(root, commit, RECIPE_FILE))
    return str(raw["dataset"]), TokenizerRecipe(**raw["recipe"])


def committed_pin(root: Path, commit: str) -> TokenizerPin:
    """Return the pin for `corpus.lock` of a registry commit. `LineageGap` if the registry lacks it."""
    inputs = json.loads(read_committed(root, commit, CORPUS_FILE))["inputs"]
    repos = tuple(entry["path"].rpartition("/")[2] for entry in inputs)
    return TokenizerPin(commit, sha256_bytes(read_committed(root, commit, TOKENIZER_FILE)), repos)


def restore(root: Path, dataset: str, pin: TokenizerPin) -> Contents:
    """Return the contents for the pinned tokenizer, from its registry commit alone.

    `TokenizerDrift` if the commit does not hold the pinned bytes or this release cannot encode with them, `LineageGap`
    if the registry lacks it.
    """
    try:
        data = read_committed(root, pin.commit, TOKENIZER_FILE)
        statistics = Statistics.from_bytes(read_committed(root, pin.commit, STATISTICS_FILE))
        owner, recipe = committed_recipe(root, pin.commit)
    except LineageGap as error:
        raise LineageGap(
            f"pinned tokenizer of {dataset}", expected=f"commit {pin.commit} in {REGISTRY}", found=error.cause, do=_DO
        ) from error
    _same(f"dataset of tokenizer commit {pin.commit}", dataset, owner)
    _same(f"sha256 of {TOKENIZER_FILE} in commit {pin.commit}", pin.sha256, sha256_bytes(data))
    encoder = Encoder(_model(data, recipe))
    _same(f"ids of {TOKENIZER_FILE} in commit {pin.commit}", recipe.vocabulary_size, encoder.vocabulary_size)
    return contents_of(pin.commit, recipe, encoder, data, statistics)


def _model(data: bytes, recipe: TokenizerRecipe) -> Model:
    try:
        return load_model(data, whitespace_recipe(recipe.whitespace))
    except TokenizerDrift as error:
        raise TokenizerDrift(
            "pinned tokenizer",
            expected="one that this release writes byte for byte",
            found=error.cause,
            do="use the release that trained it, or megacpp tokenizer train",
        ) from error


def _same(what: str, expected: object, found: object) -> None:
    if expected != found:
        raise TokenizerDrift(what, expected=expected, found=found, do=_DO)


def _stats(statistics: Statistics, commit: str) -> dict[str, Any]:
    return {
        "documents": statistics.whole.files,
        "bytes": statistics.whole.bytes,
        "tokens": statistics.whole.tokens,
        "unique_words": statistics.unique_words,
        "merges": statistics.merges,
        "learned_ids": statistics.learned_ids,
        "unused_ids": statistics.unused_ids,
        "rare_ids": statistics.rare_ids,
        "filled_size": statistics.filled_size,
        "round_trip_failures": statistics.round_trip_failures,
        "commit": commit,
    }
