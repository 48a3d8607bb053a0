"""A file that lacks what is included before it is parsed where something includes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing import worker
from megacpp_assets.semantic.parsing.budget import CpuBudget
from megacpp_assets.semantic.parsing.incomplete import FirstParses
from megacpp_assets.semantic.parsing.parse import parse_tree
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.report import ParseReport
from megacpp_assets.semantic.parsing.worker import UnitResult
from tests.semantic.parsing_trees import IN_PROCESS, InProcess, parse_in_process, toolchain, write_tree

FILLER = {f"other{number}.cc": f"int other{number};\n" for number in range(8)}
"""Of a tree, one unit in two may be parsed a second time if it has errors, else one in four."""
BOX = (
    "#pragma once\ntypedef struct box_s { length side; } box;\nstatic inline length side(box *b) { return b->side; }\n"
)
TREE = {
    "length.h": "#pragma once\ntypedef unsigned length;\n",
    "box.h": BOX,
    "box.cc": '#include "length.h"\n#include "box.h"\nlength area(box *b) { return side(b); }\n',
    **FILLER,
}


def _declared(file: ParsedFile) -> list[str]:
    assert file.cursors is not None
    return [file.symbols.qualified_name[row] for row in file.cursors.declares.tolist() if row >= 0]


def _functions(file: ParsedFile) -> list[str]:
    return [name for name in _declared(file) if not name.isupper()]


def test_a_header_that_needs_what_is_included_before_it_is_parsed_in_a_file_that_includes_it(tmp_path: Path) -> None:
    found = parse_in_process(tmp_path, TREE)["box.h"]
    assert (found.status, found.errors) == ("clean", 0)
    # The typedef begins before its struct and comes after it. What follows them belongs to the same inclusion.
    assert _declared(found)[-3:] == ["box_s::side", "side", "side::b"]


def test_a_header_is_parsed_in_the_nearest_file_above_it_that_has_no_errors(tmp_path: Path) -> None:
    above = {"crate.h": '#pragma once\n#include "box.h"\nlength depth(box *b);\n'}
    source = {"box.cc": '#include "length.h"\n#include "crate.h"\nlength area(box *b) { return depth(b); }\n'}
    found = parse_in_process(tmp_path, TREE | above | source)
    assert [found[path].errors for path in ("box.h", "crate.h")] == [0, 0]


def test_a_source_that_another_one_includes_is_parsed_there(tmp_path: Path) -> None:
    part = '#ifndef WITHIN\n#error "include it"\n#endif\nint part(void) { return shared; }\n'
    sources = {"part.cc": part, "whole.cc": 'static int shared;\n#define WITHIN\n#include "part.cc"\n', **FILLER}
    found = parse_in_process(tmp_path, sources)["part.cc"]
    assert (found.errors, _declared(found)) == (0, ["part"])


def test_a_header_that_no_file_without_errors_includes_is_parsed_by_itself(tmp_path: Path) -> None:
    broken = {"box.cc": '#include "box.h"\nint area(box *b) { return side(b); }\n'}
    found = parse_in_process(tmp_path, TREE | broken)["box.h"]
    assert found.errors > 0 and "box_s" in _declared(found)


def test_a_list_of_calls_of_a_macro_is_parsed_by_itself(tmp_path: Path) -> None:
    sources = {"list.h": "ENTRY(first)\nENTRY(second)\n", **FILLER}
    sources["a.cc"] = '#define ENTRY(name) int name;\n#include "list.h"\n'
    assert parse_in_process(tmp_path, sources)["list.h"].errors > 0


def test_a_header_that_asks_for_a_file_that_does_not_exist_is_parsed_by_itself(tmp_path: Path) -> None:
    missing = {"box.h": BOX.replace("typedef", '#ifndef LENGTH\n#include "missing.h"\n#endif\ntypedef', 1)}
    length = {"length.h": "#pragma once\n#define LENGTH\ntypedef unsigned length;\n"}
    found = parse_in_process(tmp_path, TREE | length | missing)
    assert (found["box.cc"].errors, found["box.h"].errors > 0) == (0, True)


def test_at_most_one_of_two_units_is_parsed_again_those_with_the_most_errors(tmp_path: Path) -> None:
    sources = {"length.h": TREE["length.h"], "few.h": "#pragma once\nextern length few;\n"}
    sources["many.h"] = "#pragma once\nextern length many;\nextern length more;\n"
    sources["most.h"] = "#pragma once\nextern length x;\nextern length y;\nextern length z;\n"
    included = "".join(f'#include "{path}"\n' for path in sources)
    sources["a.cc"] = f"{included}length all = few + many + more + x + y + z;\n"
    found = parse_in_process(tmp_path, sources)
    assert [found[path].errors for path in ("few.h", "many.h", "most.h")] == [1, 0, 0]


def test_only_a_parse_with_fewer_errors_counts(tmp_path: Path) -> None:
    reports: list[ParseReport] = []
    never = '#include "length.h"\n#if NEVER > 1\n#include "box.h"\n#endif\nlength area;\n'
    for number, source in enumerate((TREE["box.cc"], never)):
        files = write_tree(tmp_path / str(number), TREE | {"box.cc": source})
        parse_tree(tmp_path / str(number), files, toolchain(), InProcess(), options=IN_PROCESS, report=reports.append)
    assert [report.units_within for report in reports] == [1, 0]


def test_both_parses_are_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charges: list[int] = []
    charge = CpuBudget.charge

    def noted(self: CpuBudget, path: str, cpu_ms: int) -> None:
        charges.extend([cpu_ms] if path == "box.h" else [])
        charge(self, path, cpu_ms)

    monkeypatch.setattr(CpuBudget, "charge", noted)
    long = {"length.h": "#pragma once\n#include <regex>\ntypedef unsigned length;\n"}
    parse_in_process(tmp_path, TREE | long | {"box.h": "#include <regex>\n" + BOX})
    first, second, total = charges
    assert 0 < second < total == first + second


def test_no_file_of_a_tree_over_its_budget_is_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CpuBudget, "rejects", lambda _, path: path == "other7.cc")
    found = parse_in_process(tmp_path, TREE)
    assert found["other7.cc"].status == "failed" and found["box.h"].errors > 0


PART = (
    "#ifndef BOX_H\n#define BOX_H\nint side(void);\n#endif\n"
    "#if defined(BOX_ALL) && !defined(BOX_ALL_H)\n#define BOX_ALL_H\nint area(void);\nint depth(void);\n#endif\n"
)


def test_a_part_of_a_header_that_asks_for_a_macro_is_parsed_in_a_file_that_defines_it_first(tmp_path: Path) -> None:
    plain = {"a.cc": '#include "box.h"\nint a = side();\n'}
    asking = {"b.cc": '#define BOX_ALL\n#include "box.h"\nint b = area();\n'}
    found = parse_in_process(tmp_path, {"box.h": PART, **plain, **asking, **FILLER})["box.h"]
    assert _functions(found) == ["side", "area", "depth"]
    # The range that the second inclusion of a header drops is not of the first one.
    assert found.skipped_ranges == ()


@pytest.mark.parametrize(
    "asking",
    [
        '#include "box.h"\n#define BOX_ALL\nint b = side();\n',  # the macro comes too late
        '#define BOX_ALL\n#undef BOX_ALL\n#include "box.h"\nint b = side();\n',
        '#define BOX_ALL\n#include "box.h"\nint b = missing();\n',  # it has an error
        '#define OTHER\n#include "box.h"\nint b = side();\n',
    ],
)
def test_without_such_a_file_the_header_is_parsed_by_itself(tmp_path: Path, asking: str) -> None:
    found = parse_in_process(tmp_path, {"box.h": PART, "b.cc": asking, **FILLER})["box.h"]
    assert _functions(found) == ["side"]


def test_a_second_parse_that_loses_more_than_it_gains_does_not_count(tmp_path: Path) -> None:
    header = "#pragma once\n#ifdef SMALL\nint small(void);\n#else\nint large(void);\nint larger(void);\n#endif\n"
    asking = {"a.cc": '#define SMALL\n#include "box.h"\nint a = small();\n'}
    assert _functions(parse_in_process(tmp_path, {"box.h": header, **asking, **FILLER})["box.h"]) == ["large", "larger"]


def test_of_several_files_the_one_with_the_most_of_the_macros_counts_then_that_with_the_fewest_includes_before(
    tmp_path: Path,
) -> None:
    header = "#pragma once\n#ifdef FIRST\nint first(void);\n#endif\n#ifdef SECOND\nint second(void);\n#endif\n"
    sources = {
        "a.cc": '#define FIRST\n#include "box.h"\nint a = first();\n',
        "b.cc": '#include "c.h"\n#define FIRST\n#define SECOND\n#include "box.h"\nint b = 1;\n',
        "c.h": '#pragma once\n#include "box.h"\n',
        "d.cc": '#define FIRST\n#define SECOND\n#include "box.h"\nint d = second();\n',
    }
    assert _functions(parse_in_process(tmp_path, {"box.h": header, **sources, **FILLER})["box.h"]) == [
        "first",
        "second",
    ]


def test_a_file_that_renames_what_it_includes_is_none_to_parse_a_header_in(tmp_path: Path) -> None:
    part = "#ifdef TINY_ALL\nnamespace tiny { int area(void); }\n#endif\n"
    header = f"#pragma once\nnamespace tiny {{ int side(void); }}\n{part}"
    asking = "#define TINY_ALL\n#define tiny my_tiny\n"
    sources = {"box.h": header, "a.cc": f'{asking}#include "box.h"\nint a = my_tiny::area();\n', **FILLER}
    assert _functions(parse_in_process(tmp_path, sources)["box.h"]) == ["tiny", "tiny::side"]


def test_at_most_one_of_four_units_is_parsed_where_its_macros_are_defined_that_which_drops_the_most(
    tmp_path: Path,
) -> None:
    parts = {f"{name}.h": f"#pragma once\n#ifdef ALL\nint {name}(void);\n{'/* */' * count}\n#endif\n"
             for name, count in (("few", 1), ("many", 9))}  # fmt: skip
    sources = {**parts, "a.cc": '#define ALL\n#include "few.h"\n#include "many.h"\nint a = few() + many();\n'}
    sources |= {path: FILLER[path] for path in list(FILLER)[:2]}
    found = parse_in_process(tmp_path, sources)
    assert [_functions(found[path]) for path in parts] == [[], ["many"]]


SHAPE = {
    "name.h": "#pragma once\n#define LIB_NAMESPACE lib::v1\n",
    "shape.h": "#pragma once\nnamespace LIB_NAMESPACE {\nstruct shape { int sides; };\n}\n",
    "a.cc": '#include "name.h"\n#include "shape.h"\nint sides(lib::v1::shape *x) { return x->sides; }\n',
    **FILLER,
}


def test_a_header_whose_namespace_is_a_macro_that_it_does_not_include_is_parsed_where_the_macro_is_known(
    tmp_path: Path,
) -> None:
    assert "lib::v1::shape" in _declared(parse_in_process(tmp_path, SHAPE)["shape.h"])


@pytest.mark.parametrize("reason", ["timeout", "crash"])
def test_the_first_parse_of_a_header_counts_if_the_second_one_fails(
    reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again: list[str] = []

    def fails(unit: Unit, _: object) -> UnitResult:
        again.append(unit.path)
        return UnitResult(ParsedFile(unit.path, "failed", unit.mode, reason))

    monkeypatch.setattr(worker, "_outcome_within", fails)
    found = parse_in_process(tmp_path, SHAPE)["shape.h"]
    assert again == ["shape.h"]
    assert (found.status, "LIB_NAMESPACE::shape" in _declared(found)) == ("clean", True)


SPACE = "namespace LIB_SPACE { extern int sides; }\n"
KNOWN = "namespace lib { int sides; }\n"


@pytest.mark.parametrize(
    ("first", "second", "is_better"),
    [
        (SPACE, KNOWN, True),
        (SPACE, SPACE, False),
        (SPACE, "", False),
        (SPACE, KNOWN + "missing area;\n", False),
        (SPACE + "missing area;\n", SPACE, True),
        ("missing area;\n", SPACE, True),
        (SPACE, SPACE * 2, False),
        (SPACE * 2, KNOWN + SPACE, True),
        (SPACE, KNOWN + "enum { LIB_SIDES };\n", True),
        (SPACE, "namespace JSON { int sides; }\n", True),
        (SPACE, "namespace LIB_SPACEs { int sides; }\n", True),
    ],
)
def test_the_better_of_two_parses_has_fewer_errors_then_fewer_namespaces_with_the_name_of_a_macro(
    first: str, second: str, is_better: bool, tmp_path: Path
) -> None:
    texts = {"first": first, "second": second or KNOWN}
    files = {name: parse_in_process(tmp_path / name, {"shape.h": text})["shape.h"] for name, text in texts.items()}
    parses = FirstParses()
    parses.note(UnitResult(files["first"]))
    failed = ParsedFile("shape.h", "failed", "inferred", "timeout")
    assert parses.is_better(UnitResult(files["second"] if second else failed)) is is_better
