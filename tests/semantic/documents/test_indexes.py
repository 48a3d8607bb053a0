"""What composing knows of a repository, and what the search for the price has found, change no document."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from megacpp_assets.contract.names import CONTEXT_ROLE
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.context.growth import Context
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.indexes import Indexes
from megacpp_assets.semantic.documents.lots import ComposerPool, LocalComposers, Materials
from megacpp_assets.semantic.documents.text.document import DocumentWriter, Recall
from megacpp_assets.semantic.documents.unpriced import Unpriced
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Span
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


_CONDITIONAL = "#if A\nint a;\n#endif\nnamespace n {\nint f() { return 1; }\n}\n#if A\nint b;\n#endif\n"


@pytest.mark.parametrize("head", ["", "int above;"])
def test_a_text_that_is_written_before_its_head_is_the_text_below_the_head(head: str, tmp_path: Path) -> None:
    repository, store = index(tmp_path, {"a.cc": _CONDITIONAL})
    indexes = Indexes(repository, store, RECIPE)
    pieces = indexes.layout.pieces(repository.roots, Context())
    body, above, below = (
        DocumentWriter(repository, follows=True),
        DocumentWriter(repository),
        DocumentWriter(repository),
    )
    for writer in (above, below) if head else ():
        writer.synthetic(head)
        writer.context(0, "preamble", "")
    indexes.layout.write(body, pieces)
    indexes.layout.write(below, pieces)
    assert above.try_append(body)
    assert _finished(above, repository) == _finished(below, repository)
    assert len({part.start for part in below.parts}) == len(below.parts) > len(pieces)


def test_a_text_with_a_line_that_its_head_has_is_written_again(tmp_path: Path) -> None:
    repository, store = index(tmp_path, {"a.cc": _CONDITIONAL})
    indexes = Indexes(repository, store, RECIPE)
    body, writer = DocumentWriter(repository, follows=True), DocumentWriter(repository)
    opening = _CONDITIONAL.index("namespace n {")
    writer.slice(0, Span(opening, opening + 13, opening, opening + 13), CONTEXT_ROLE)
    indexes.layout.write(body, indexes.layout.pieces(repository.roots, Context()))
    assert not writer.try_append(body)
    assert writer.size == 13


def _finished(writer: DocumentWriter, repository: Repository) -> dict[str, object]:
    document = writer.finish(repository.roots, validates=False, recall=Recall(0, 0))
    return {each.name: getattr(document, each.name) for each in fields(document)} | {"roles": document.roles.tolist()}


def _nothing(*_: object) -> None:
    return None


def _shown(entry: object) -> str:
    return getattr(entry, "text", "") or repr(entry)
