"""Repositories that nobody would write on purpose: a right answer for each, by every strategy."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from megacpp_assets.contract.names import DOCUMENT_TOKENS, ROOT_ROLE
from megacpp_assets.contract.recipe.documents import STRATEGIES, HoldoutRecipe, SemanticRecipe
from megacpp_assets.semantic.documents.composer import Skipped
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.judge import Judge
from megacpp_assets.semantic.documents.roots.held_out import hold_out
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.sources import Sources, assembled, index

pytestmark = pytest.mark.parametrize("strategy", STRATEGIES)
RUNG = "int f{here}(int v) {{ return v > 1000 ? v : f{there}(v + {here}) * 1000003; }}\n"


def _made(tree: Path, sources: Sources, strategy: str) -> list[Document]:
    entries = assembled(tree, sources, SemanticRecipe(strategy=strategy))
    return [entry for entry in entries if isinstance(entry, Document)]


def _roots(made: list[Document]) -> list[tuple[int, int]]:
    return sorted(root for document in made for root in document.roots)


def _own_text(parts: list[Document]) -> str:
    """Return the text of the roots of documents, one after another."""
    return "".join(
        part.text[each.char_start : each.char_end]
        for part in parts
        for each in part.constituents
        if each.role == ROOT_ROLE
    )


def _stands_once(document: Document) -> bool:
    places = sorted((part.filepath, part.byte_start, part.byte_end) for part in document.constituents)
    return all(first[0] != second[0] or first[2] <= second[1] for first, second in pairwise(places))


def test_a_circle_of_a_thousand_functions_has_each_as_a_root_once(strategy: str, tmp_path: Path) -> None:
    declared = "".join(f"int f{number}(int);\n" for number in range(1000))
    circle = "".join(RUNG.format(here=number, there=(number + 1) % 1000) for number in range(1000))
    made = _made(tmp_path, {"circle.h": declared, "circle.cc": f'#include "circle.h"\n{circle}'}, strategy)
    texts = [document.text for document in made]
    assert sum(f"int f{number}(int v) {{" in text for text in texts for number in (0, 999)) >= 2
    assert len(_roots(made)) == len(set(_roots(made))) >= 1000
    assert all(map(_stands_once, made))


def test_a_class_of_sixty_thousand_tokens_is_cut_into_parts_of_members(strategy: str, tmp_path: Path) -> None:
    members = "".join(f"  int member_{number}(int first, int second) const;\n" for number in range(5000))
    sources = {"wide.h": f"class Wide {{\n{members}}};\n", "use.cc": '#include "wide.h"\nint use(Wide w);\n'}
    parts = [document for document in _made(tmp_path, sources, strategy) if document.root.name == "Wide"]
    assert len(parts) > 15 and _own_text(parts) == f"class Wide {{\n{members}}};"
    assert all(part.text.startswith("class Wide {\n") and part.text.endswith("};") for part in parts)
    assert all(len(part.text) < DOCUMENT_TOKENS * 4 for part in parts)


def test_a_root_longer_than_the_budget_is_cut_into_parts_with_what_they_use(strategy: str, tmp_path: Path) -> None:
    lines = "".join(f"  value += helper(value) * {number};\n" for number in range(1000))
    sources = {
        "a.cc": f"int helper(int v) {{ return v * 1000003; }}\nint vast(int value) {{\n{lines}  return value;\n}}\n"
    }
    parts = [document for document in _made(tmp_path, sources, strategy) if document.root.name == "vast"]
    assert len(parts) > 1 and lines in _own_text(parts)
    assert all(part.text.count("int vast(int value) {") == 1 and part.text.endswith("}") for part in parts)
    assert all("int helper(int v)" in part.text for part in parts)
    assert all(len(part.text) < DOCUMENT_TOKENS * 4 for part in parts)


def test_a_repository_of_one_function_is_one_document(strategy: str, tmp_path: Path) -> None:
    [document] = _made(tmp_path, {"a.cc": "int lonely(int v) { return v * 1000003; }\n"}, strategy)
    assert document.text == "int lonely(int v) { return v * 1000003; }" and not document.validates


def test_nothing_but_macros_is_text_to_train_on(strategy: str, tmp_path: Path) -> None:
    text = "".join(f"#define LIMIT_{number} ({number} * 1000003)\n" for number in range(50))
    made = _made(tmp_path, {"limits.h": text}, strategy)
    assert [document.text for document in made] == [text.rstrip()]


def test_a_repository_held_out_whole_validates_whole(strategy: str, tmp_path: Path) -> None:
    repository, store = index(
        tmp_path, {f"f{n}.cc": f"int f{n}(int v) {{ return v * {n}000003; }}\n" for n in range(5)}
    )
    judge = Judge(repository, hold_out(repository, "library", HoldoutRecipe(repositories=("library",))))
    entries = list(documents(repository, store, SemanticRecipe(strategy=strategy), DOCUMENT_TOKENS, judge))
    assert {entry.validates for entry in entries if isinstance(entry, Document)} == {True}
    assert not [entry for entry in entries if isinstance(entry, Skipped)]
