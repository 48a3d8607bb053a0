"""What composing knows of a repository, and what the search for the price has found, change no document."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents import documents as composing
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.indexes import Indexes
from tests.semantic.documents.assembling import SOURCES
from tests.semantic.sources import index

RECIPE = SemanticRecipe(replication=9.0)


def test_budgets_that_share_indexes_have_the_documents_that_each_has_alone(tmp_path: Path) -> None:
    repository, store = index(tmp_path, SOURCES)
    shared = Indexes(repository, store, RECIPE)
    for budget in (512, 4096, 512):
        alone = list(map(_shown, documents(repository, store, RECIPE, budget)))
        assert list(map(_shown, documents(repository, store, RECIPE, budget, indexes=shared))) == alone


def test_a_kept_search_finds_the_context_that_a_second_search_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, store = index(tmp_path, SOURCES)
    kept = list(map(_shown, documents(repository, store, RECIPE, 4096)))
    monkeypatch.setattr(composing, "_KEPT_CONTEXTS", 0)
    assert list(map(_shown, documents(repository, store, RECIPE, 4096))) == kept
    assert any("struct Pair" in each and "int main" in each for each in kept)


def _shown(entry: object) -> str:
    return getattr(entry, "text", "") or repr(entry)
