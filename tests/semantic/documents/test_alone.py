"""The share of documents that lack no name of their repository, by parsing some of them by themselves."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.compute.local import LocalPool
from megacpp_assets.semantic.documents import alone
from megacpp_assets.semantic.documents.alone import Draw, count_alone, names_defined
from megacpp_assets.semantic.parsing.worker import Limits
from megacpp_assets.storage.caching.cache import Cache
from tests.semantic.parsing_trees import InProcess, toolchain
from tests.semantic.sources import one

DEFINED = frozenset({"Widget", "grow"})
WHOLE = "struct Widget {};\nint grow(Widget w);\nint f(Widget w) { return grow(w); }\n"
LACKING = "int f() { return grow(1); }\n"
FOREIGN = '#include "gone.h"\nStranger s;\nstd::vector<int> v;\n'
LOCAL = Limits(applied=False)


@pytest.fixture(autouse=True)
def _small_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "SYSTEM", "vector")  # read faster than the whole library


def test_names_of_the_repository_count_and_no_others() -> None:
    texts = [WHOLE, LACKING, FOREIGN]
    assert count_alone(texts, DEFINED, toolchain(), InProcess(), LOCAL) == (3, 2)
    assert count_alone(texts, frozenset({"Stranger"}), toolchain(), InProcess(), LOCAL) == (3, 2)


def test_a_text_reads_nothing_of_the_machine() -> None:
    text = '#if __has_include("/etc/passwd")\nint f() { return grow(1); }\n#endif\n'
    assert count_alone([text], DEFINED, toolchain(), InProcess(), LOCAL) == (1, 1)


def test_a_text_that_ends_its_parser_is_not_among_the_parsed() -> None:
    executor = LocalPool(1)
    try:
        texts = [WHOLE, "#pragma clang __debug crash\n", LACKING]
        assert count_alone(texts, DEFINED, toolchain(), executor, Limits()) == (2, 1)
    finally:
        executor.close()


class _Refusing(InProcess):
    """An executor that has nothing to do."""

    def run(self, function: Any, batches: Any, *, timeout_s: float) -> Any:
        raise AssertionError(f"{function.__name__} for what is known")


def test_texts_of_an_earlier_run_are_not_parsed_again_and_count_by_the_names_of_this_one(tmp_path: Path) -> None:
    texts, store = [WHOLE, LACKING, FOREIGN, LACKING], Cache(tmp_path)
    assert count_alone(texts, DEFINED, toolchain(), InProcess(), LOCAL, store=store) == (4, 2)
    assert count_alone(texts, DEFINED, toolchain(), _Refusing(), LOCAL, store=store) == (4, 2)
    assert count_alone(texts, frozenset({"Stranger"}), toolchain(), _Refusing(), LOCAL, store=store) == (4, 3)
    with pytest.raises(AssertionError, match="compile_system"):
        count_alone([*texts, WHOLE + LACKING], DEFINED, toolchain(), _Refusing(), LOCAL, store=store)
    with pytest.raises(AssertionError, match="compile_system"):
        count_alone(texts, DEFINED, toolchain(), _Refusing(), Limits(cpu_s=7, applied=False), store=store)


def test_no_text_is_no_parse() -> None:
    assert count_alone([], DEFINED, toolchain(), InProcess(), LOCAL) == (0, 0)


def test_the_same_documents_are_drawn_whatever_their_order() -> None:
    documents = [(f"id {number}", f"text {number}") for number in range(50)]
    shuffled = random.Random(1).sample(documents, len(documents))
    draws = [Draw(7), Draw(7)]
    for draw, entries in zip(draws, (documents, shuffled), strict=True):
        for identity, text in entries:
            draw.add(identity, text)
    assert draws[0].texts == draws[1].texts and len(set(draws[0].texts)) == 7
    assert Draw(0).texts == []


def test_names_are_what_stands_outside_of_functions() -> None:
    facts, _ = one(
        "#define LIMIT 1\nnamespace n { struct Box { int width; }; int f(int given) { int own = 1; return own; } }\n"
    )
    names = names_defined(facts.entities.declared())
    assert {"LIMIT", "n", "Box", "width", "f"} <= names and names.isdisjoint({"given", "own"})
