"""Definitions that are denied stand in no document, neither as roots nor as context."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.contract.recipe.documents import HoldoutRecipe, SemanticRecipe
from megacpp_assets.semantic.documents.composer import Skipped
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.judge import Judge
from megacpp_assets.semantic.documents.roots.denied import denied_roots
from megacpp_assets.semantic.documents.roots.held_out import hold_out
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.sources import index

ANSWER = "int solve_it(int first, int second) { return first * 1000 + second; }\n"
USER = "int use_it(int value) { return solve_it(value, value) + other_one(value); }\n"
OTHER = "int other_one(int value) { return value > 1000 ? value : 0; }\n"
SOURCES = {"answer.h": OTHER + ANSWER, "user.cc": '#include "answer.h"\n' + USER}
PLACE = (len(OTHER), len(OTHER) + len(ANSWER) - 1)


def _made(tmp_path: Path, *, answers: bool, symbol: bool, held: str = "") -> tuple[list[Document], list[Skipped]]:
    repository, store = index(tmp_path, SOURCES)
    places = {"answer.h": [(*PLACE, "evalx:5")]} if answers else {}
    denied = denied_roots(repository, places, [("answer.h", "ns::solve_it")] if symbol else [])
    side = (
        hold_out(repository, "lib", HoldoutRecipe(repositories=("lib",)))
        if held
        else hold_out(repository, "lib", HoldoutRecipe(share=0))
    )
    judge = Judge(repository, side, denied)
    made = list(documents(repository, store, SemanticRecipe(parsed_documents=0), 4096, judge))
    return [each for each in made if isinstance(each, Document)], [each for each in made if isinstance(each, Skipped)]


def test_a_definition_with_an_answer_is_in_no_document(tmp_path: Path) -> None:
    made, skipped = _made(tmp_path, answers=True, symbol=False)
    assert [each.reason for each in skipped] == ["benchmark answer of evalx:5"]
    text = "\n".join(each.text for each in made)
    assert "first * 1000" not in text and "value > 1000" in text and "use_it" in text


def test_nor_in_one_that_validates(tmp_path: Path) -> None:
    made, skipped = _made(tmp_path, answers=True, symbol=False, held="lib")
    assert len(skipped) == 1 and not any("first * 1000" in each.text for each in made)


def test_a_denied_symbol_is_in_no_document_by_the_last_part_of_its_name(tmp_path: Path) -> None:
    made, skipped = _made(tmp_path, answers=False, symbol=True)
    assert [each.reason for each in skipped] == ["denied symbol of answer.h: solve_it"]
    assert not any("first * 1000" in each.text for each in made)


def test_without_a_denied_definition_all_are_shown(tmp_path: Path) -> None:
    made, skipped = _made(tmp_path, answers=False, symbol=False)
    assert skipped == [] and any("first * 1000" in each.text for each in made)


def test_what_an_answer_shares_with_the_definition_beside_it_denies_only_the_answer(tmp_path: Path) -> None:
    repository, _ = index(tmp_path, SOURCES)
    places = {"answer.h": [(PLACE[0] - 4, PLACE[1], "evalx:5")]}
    assert list(denied_roots(repository, places).values()) == ["benchmark answer of evalx:5"]
