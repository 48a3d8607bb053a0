"""The share of documents that lack no name of their repository, by parsing some of them by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.compute.executors.executor import Outcome
from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.semantic.documents.measures import alone
from megacpp_assets.semantic.documents.measures.alone import count_alone, names_defined
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


class _Killing(InProcess):
    """An executor whose workers are killed from outside once the system's headers are compiled."""

    def run(self, function: Any, batches: Any, *, timeout_s: float) -> Any:
        if function is alone.compile_system:
            yield from super().run(function, batches, timeout_s=timeout_s)
        else:
            yield from (Outcome(index, None, "crash: worker ended with exit code -9") for index in range(len(batches)))


def test_a_text_whose_parser_was_killed_is_tried_again(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    assert count_alone([WHOLE], DEFINED, toolchain(), _Killing(), LOCAL, store=store) == (0, 0)
    assert count_alone([WHOLE], DEFINED, toolchain(), InProcess(), LOCAL, store=store) == (1, 1)


def test_a_text_that_takes_far_longer_than_any_is_not_among_the_parsed_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "TEXT_CPU_S", 0)
    sums = "constexpr int sum(int n) { return n < 2 ? n : sum(n - 1) + sum(n - 2); }\n"
    long = sums + "".join(f"static_assert(sum(22) > {number});\n" for number in range(1000))
    executor = LocalPool(1)
    try:
        texts, store = [WHOLE, long], Cache(tmp_path)
        assert count_alone(texts, DEFINED, toolchain(), executor, Limits(), store=store) == (1, 1)
    finally:
        executor.close()
    assert count_alone(texts, DEFINED, toolchain(), _Refusing(), Limits(), store=store) == (1, 1)


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


def test_names_are_those_outside_of_functions() -> None:
    facts, _ = one(
        "#define LIMIT 1\nnamespace n { struct Box { int width; }; int f(int given) { int own = 1; return own; } }\n"
    )
    names = names_defined(facts.entities.declared())
    assert {"LIMIT", "n", "Box", "width", "f"} <= names and names.isdisjoint({"given", "own"})
