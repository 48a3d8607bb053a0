"""The shares of documents that compile and that lack no name of their repository, by parsing some of them alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.compute.executors.executor import Outcome
from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.semantic.documents.measures import alone
from megacpp_assets.semantic.documents.measures.alone import Alone, count_alone, names_defined
from megacpp_assets.semantic.documents.measures.drawn import Drawn
from megacpp_assets.semantic.parsing.worker import Limits
from megacpp_assets.storage.caching.cache import Cache
from tests.semantic.parsing_trees import InProcess, toolchain
from tests.semantic.sources import one

DEFINED = frozenset({"Widget", "grow"})
WHOLE = Drawn("struct Widget {};\nint grow(Widget w);\nint f(Widget w) { return grow(w); }\n")
LACKING = Drawn("int f() { return grow(1); }\n")
FOREIGN = Drawn('#include "gone.h"\nStranger s;\n')
IN_C = Drawn('#include "own.h"\n#include <stddef.h>\nsize_t size(void) { return 1; }\n', "c", "c11")
LOCAL = Limits(applied=False)


def _count(*documents: Drawn, defined: frozenset[str] = DEFINED, store: Cache | None = None) -> Alone:
    return count_alone(documents, defined, toolchain(), InProcess(), LOCAL, store=store)


class _Refusing(InProcess):
    """An executor that has nothing to do."""

    def run(self, function: Any, batches: Any, *, timeout_s: float) -> Any:
        raise AssertionError(f"{function.__name__} for what is known")


class _Killing(InProcess):
    """An executor whose workers are killed from outside."""

    def run(self, function: Any, batches: Any, *, timeout_s: float) -> Any:
        yield from (Outcome(index, None, "crash: worker ended with exit code -9") for index in range(len(batches)))


def test_names_of_the_repository_count_as_missing_and_no_others() -> None:
    found = _count(WHOLE, LACKING, FOREIGN, IN_C)
    assert (found.parsed, found.whole, found.clean) == (4, 3, 2)
    assert _count(WHOLE, LACKING, FOREIGN, IN_C, defined=frozenset({"Stranger"})).whole == 3
    assert _count(WHOLE, LACKING, FOREIGN, IN_C, defined=frozenset({"Stranger", "grow"})).whole == 2


def test_each_kind_of_error_is_counted_once_for_a_document() -> None:
    twice = Drawn("int f() { return grow(1) + grow(2); }\nint g(Stranger &given);\n")
    found = _count(WHOLE, LACKING, twice)
    assert found.kinds == {"undeclared_name": 2, "unknown_type": 1}
    stats = found.as_stats()
    assert stats["documents_parsed"] == 3 and stats["documents_compile_errors"] == found.kinds
    assert stats["documents_compiled_per_cent"] == stats["documents_alone_per_cent"] == 33.333


def test_a_text_reads_nothing_of_the_machine() -> None:
    text = '#if __has_include("/etc/passwd")\nint f() { return grow(1); }\n#endif\n'
    assert _count(Drawn(text)).whole == 1


def test_a_text_that_ends_its_parser_is_not_among_the_parsed() -> None:
    executor = LocalPool(1)
    try:
        documents = [WHOLE, Drawn("#pragma clang __debug crash\n"), LACKING]
        found = count_alone(documents, DEFINED, toolchain(), executor, Limits())
        assert (found.parsed, found.whole) == (2, 1)
    finally:
        executor.close()


def test_a_text_whose_parser_was_killed_is_tried_again(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    assert count_alone([WHOLE], DEFINED, toolchain(), _Killing(), LOCAL, store=store).parsed == 0
    assert _count(WHOLE, store=store).parsed == 1


def test_a_text_that_takes_far_longer_than_any_is_not_among_the_parsed_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "TEXT_CPU_S", 0)
    sums = "constexpr int sum(int n) { return n < 2 ? n : sum(n - 1) + sum(n - 2); }\n"
    long = Drawn(sums + "".join(f"static_assert(sum(22) > {number});\n" for number in range(1000)))
    executor = LocalPool(1)
    try:
        documents, store = [WHOLE, long], Cache(tmp_path)
        first = count_alone(documents, DEFINED, toolchain(), executor, Limits(), store=store)
    finally:
        executor.close()
    assert (first.parsed, first.whole) == (1, 1)
    assert count_alone(documents, DEFINED, toolchain(), _Refusing(), Limits(), store=store) == first


def test_texts_of_an_earlier_run_are_not_parsed_again_and_count_by_the_names_of_this_one(tmp_path: Path) -> None:
    documents, store = [WHOLE, LACKING, FOREIGN, LACKING], Cache(tmp_path)

    def again(*given: Drawn, defined: frozenset[str] = DEFINED, limits: Limits = LOCAL) -> Alone:
        return count_alone(given, defined, toolchain(), _Refusing(), limits, store=store)

    first = _count(*documents, store=store)
    assert (first.parsed, first.whole, first.clean) == (4, 2, 1)
    assert again(*documents) == first
    assert again(*documents, defined=frozenset({"Stranger"})).whole == 3
    with pytest.raises(AssertionError, match="for what is known"):
        again(*documents, Drawn(WHOLE.text + LACKING.text))
    with pytest.raises(AssertionError, match="for what is known"):
        again(*documents, WHOLE._replace(standard="c++17"))
    with pytest.raises(AssertionError, match="for what is known"):
        again(*documents, limits=Limits(cpu_s=7, applied=False))


def test_no_text_is_no_parse() -> None:
    assert count_alone([], DEFINED, toolchain(), _Refusing(), LOCAL) == Alone()


def test_names_are_those_outside_of_functions() -> None:
    facts, _ = one(
        "#define LIMIT 1\nnamespace n { struct Box { int width; }; int f(int given) { int own = 1; return own; } }\n"
    )
    names = names_defined(facts.entities.declared())
    assert {"LIMIT", "n", "Box", "width", "f"} <= names and names.isdisjoint({"given", "own"})
