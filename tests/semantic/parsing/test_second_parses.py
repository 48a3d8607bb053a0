"""Few units of a tree are parsed a second time, whatever is wrong with it; those that a header may have hurt are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing import worker
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.precompiled import SharedHeader
from megacpp_assets.semantic.parsing.second_parses import SecondParses, affordable
from megacpp_assets.semantic.parsing.worker import UnitResult
from tests.semantic.parsing.test_shared_headers import GUARDED, calls, parse, states

LIB = GUARDED + "#include <stddef.h>\ninline int twice(int v) { return v * 2; }\n#endif\n"
LACKING = (
    '#include "lib.h"\n#include <stddef.h>\n#include <absent/test.h>\n'
    "TEST(A, B{0}) {{ twice({0}); }}\nint use{0}() {{ return twice({0}); }}\n"
)


def results(missing: list[int], errors: list[int]) -> list[UnitResult]:
    files = [ParsedFile(f"{place}.cc", "errors", "inferred", errors=count) for place, count in enumerate(errors)]
    return [UnitResult(file, shares=True, missing=count) for file, count in zip(files, missing, strict=True)]


def header(units: int) -> SharedHeader:
    return SharedHeader("", tuple(Unit(f"{place}.cc", (), "inferred", False) for place in range(units)))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The path of each parse, in the order in which they were made."""
    paths: list[str] = []
    original = worker._parse

    def noted(unit: worker.Unit, *rest: worker._Job | worker.Header | None) -> UnitResult:
        paths.append(unit.path)
        return original(unit, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(worker, "_parse", noted)
    yield paths


def test_one_unit_in_twenty_is_parsed_twice_if_all_miss_a_dependency(tmp_path: Path, parsed: list[str]) -> None:
    tree = {"lib.h": LIB, **{f"use{index}.cpp": LACKING.format(index) for index in range(40)}}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    assert len(parsed) - len(tree) <= len(tree) // 20
    assert (report.headers, report.dropped, report.units_audited, report.units_doubted) == (1, 0, 1, 0)
    assert report.calls_compared > 0
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert states(found) == states(without)
    assert [calls(found[path]) for path in tree] == [calls(without[path]) for path in tree]


def test_a_header_that_changes_what_a_unit_with_errors_calls_is_dropped(tmp_path: Path) -> None:
    unit = '#define pick choose\n#include "pick.h"\n#include <absent.h>\nlong use() { return pick(1); }\nabsent o;\n'
    tree = {
        "pick.h": "#pragma once\nlong pick(long);\n",
        **{f"use{index}.cpp": unit for index in range(4)},
    }
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.headers, report.dropped, report.calls_compared, report.calls_differing) == (1, 1, 1, 1)
    assert [calls(file) for file in found.values()] == [calls(file) for file in without.values()]
    assert states(found) == states(without)


def test_a_unit_with_errors_only_from_the_shared_header_is_parsed_again(tmp_path: Path) -> None:
    hurt = "#include <stddef.h>\nint twice;\nint hurt() { return twice; }\n"
    wrong = '#include "lib.h"\nint wrong() { return twice(none) + none + none; }\n'
    fine = '#include "lib.h"\n#include <stddef.h>\nint fine() { return twice(1); }\n'
    tree = {"lib.h": LIB, "hurt.cpp": hurt, "wrong.cpp": wrong, **{f"fine{index}.cpp": fine for index in range(57)}}
    found, report = parse(tmp_path, tree, precompile=True)
    assert (report.headers, report.dropped, report.units_doubted) == (1, 0, 2)
    assert (found["hurt.cpp"].status, found["wrong.cpp"].status) == ("clean", "errors")


@pytest.mark.parametrize(
    "early",
    [
        '#ifdef LIB_H\n#error first\n#endif\n#include "lib.h"\nint early() { return twice(1); }\n',
        '#define FEW\n#include "lib.h"\nint early() { return once(1); }\n',
    ],
)
def test_a_unit_that_uses_macros_before_its_include_does_not_share_the_header(tmp_path: Path, early: str) -> None:
    lib = LIB.replace("#endif", "#ifdef FEW\ninline int once(int v) { return v; }\n#endif\n#endif")
    fine = '#include "lib.h"\nint fine() { return twice(1); }\n'
    tree = {"lib.h": lib, "early.cpp": early, **{f"fine{index}.cpp": fine for index in range(9)}}
    found, report = parse(tmp_path, tree, precompile=True)
    assert (report.headers, report.dropped, report.units_doubted) == (1, 0, 0)
    assert found["early.cpp"].status == "clean"


@given(st.integers(0, 3000), st.lists(st.integers(1, 64), max_size=80), st.lists(st.integers(0, 70), max_size=4))
def test_audits_and_other_second_parses_are_one_unit_in_twenty(
    units: int, sharing: list[int], counts: list[int]
) -> None:
    headers = affordable([header(count) for count in sharing], units)
    second = SecondParses(units, len(headers))
    taken = sum(second.take(count) for count in counts)
    assert len(headers) + taken == min(len(sharing), max(1, units // 20)) + taken <= max(1, units // 20)
    assert taken == min(sum(counts), max(1, units // 20) - len(headers))


def test_if_too_many_headers_need_audits_those_with_most_units_are_kept() -> None:
    headers = [header(count) for count in (4, 9, 7, 9, 30)]
    assert affordable(headers, 60) == [headers[1], headers[3], headers[4]]
    assert affordable(headers, 3) == [headers[4]]


def test_units_with_few_errors_and_no_missing_file_are_chosen() -> None:
    chosen = SecondParses(100, 3).choose(results([1, 2, 0, 0, 0], [1, 1, 7, 3, 5]))
    assert [result.file.errors for result in chosen] == [3, 5]


def test_a_unit_without_the_shared_header_is_not_parsed_again() -> None:
    plain = [replace(result, shares=False) for result in results([0, 0], [1, 2])]
    assert SecondParses(1000, 0).choose(plain) == []
