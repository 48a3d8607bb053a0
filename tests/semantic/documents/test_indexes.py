"""What composing knows of a repository, and what the search for the price has found, change no document."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.context.growth import Context
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.indexes import Indexes
from megacpp_assets.semantic.documents.lots import ComposerPool, LocalComposers, Materials
from megacpp_assets.semantic.documents.text.document import DocumentWriter, SliceRecorder
from megacpp_assets.semantic.documents.unpriced import Unpriced
from tests.semantic.documents.assembling import SOURCES
from tests.semantic.sources import index

RECIPE = SemanticRecipe(replication=9.0)


def test_budgets_that_share_indexes_have_the_documents_that_each_has_alone(tmp_path: Path) -> None:
    repository, store = index(tmp_path, SOURCES)
    shared = ComposerPool(LocalComposers(Materials(repository, store, RECIPE)))
    for budget in (512, 4096, 512):
        alone = list(map(_shown, documents(repository, store, RECIPE, budget)))
        assert list(map(_shown, documents(repository, store, RECIPE, budget, composers=shared))) == alone


def test_a_kept_search_finds_the_context_that_a_second_search_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, store = index(tmp_path, SOURCES)
    kept = list(map(_shown, documents(repository, store, RECIPE, 4096)))
    monkeypatch.setattr(Unpriced, "context", _nothing)
    monkeypatch.setattr(Unpriced, "document", _nothing)
    assert list(map(_shown, documents(repository, store, RECIPE, 4096))) == kept
    assert any("struct Pair" in each and "int main" in each for each in kept)


def test_a_recorder_has_the_parts_of_a_written_document(tmp_path: Path) -> None:
    sources = {"a.cc": "#if A\nint a;\n#endif\nnamespace n {\nint f() { return 1; }\n}\n#if A\nint b;\n#endif\n"}
    repository, store = index(tmp_path, sources)
    indexes = Indexes(repository, store, RECIPE)
    pieces = indexes.layout.pieces(repository.roots, Context())
    writer, recorder = DocumentWriter(repository), SliceRecorder(repository)
    indexes.layout.write(writer, pieces)
    indexes.layout.write(recorder, pieces)
    assert recorder.parts == writer.parts and recorder.size == writer.size
    assert len({part.start for part in recorder.parts}) == len(recorder.parts) > len(pieces)


def _nothing(*_: object) -> None:
    return None


def _shown(entry: object) -> str:
    return getattr(entry, "text", "") or repr(entry)
