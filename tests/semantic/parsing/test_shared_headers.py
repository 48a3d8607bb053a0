"""Parses that rest on a shared precompiled header say what plain ones say, or the header is dropped."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS, parse_tree
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.report import ParseReport
from tests.semantic.parsing_trees import IN_PROCESS, InProcess, toolchain, write_tree

GUARDED = "#ifndef LIB_H\n#define LIB_H\n"
LIB = GUARDED + '#include "part.h"\n#include <cstddef>\ninline int twice(int v) { return part(v) * 2; }\n#endif\n'
TREE = {
    "include/lib.h": LIB,
    "include/part.h": "#pragma once\n#include <initializer_list>\nstruct P { int v; };\nint part(int v);\n",
    **{
        f"src/use{index}.cpp": '#include <initializer_list>\n#include "lib.h"\n'
        f"int use{index}(std::initializer_list<int> s) {{ return twice({index}) + part(s.size()); }}\n"
        for index in range(5)
    },
}
PLAIN = replace(IN_PROCESS, precompile=False)
CALL = 103


def parse(folder: Path, tree: Mapping[str, str], *, precompile: bool) -> tuple[dict[str, ParsedFile], ParseReport]:
    reports: list[ParseReport] = []
    options = IN_PROCESS if precompile else PLAIN
    files = write_tree(folder, tree)
    found = parse_tree(folder, files, toolchain(), InProcess(), options=options, report=reports.append)
    (report,) = reports
    return {file.path: file for file in found}, report


def calls(file: ParsedFile) -> Counter[tuple[int, int, int]]:
    assert file.cursors is not None
    columns = (file.cursors.kind, file.cursors.start, file.cursors.end, file.symbols.usrs(file.cursors.uses))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return Counter((start, end, usr) for kind, start, end, usr in rows if kind == CALL)


def states(found: Mapping[str, ParsedFile]) -> dict[str, tuple[str, str, int]]:
    return {path: (file.status, file.reason, file.errors) for path, file in found.items()}


def by_hash(paths: Iterable[str]) -> list[str]:
    """`paths` in the order in which samples take them."""
    return sorted(paths, key=lambda path: hashlib.sha256(path.encode()).digest())


def test_with_and_without_a_shared_header_calls_includes_and_errors_are_equal(tmp_path: Path) -> None:
    with_header, report = parse(tmp_path / "with", TREE, precompile=True)
    without, nothing = parse(tmp_path / "without", TREE, precompile=False)
    assert (tmp_path / "with/.megacpp/pch/0.pch").is_file()
    assert nothing == ParseReport()
    assert (report.headers, report.unbuilt, report.dropped) == (1, 0, 0)
    assert report.units_audited == 1 and report.calls_compared > 0 and report.calls_differing == 0
    for path, plain in without.items():
        quick = with_header[path]
        assert (quick.status, quick.errors, quick.includes) == (plain.status, plain.errors, plain.includes)
        assert calls(quick) == calls(plain)
        assert list(quick.symbols) == list(plain.symbols)
    assert without["src/use0.cpp"].includes == ("include/lib.h", "include/part.h")


def test_one_worker_or_two_and_any_order_of_files_give_equal_values_and_reports(tmp_path: Path) -> None:
    outcomes = []
    for workers, batch_files in ((1, 16), (2, 1)):
        tree = tmp_path / ("deep/er" * workers)
        files = write_tree(tree, TREE)
        random.Random(workers).shuffle(files)
        pool = LocalPool(workers)
        reports: list[ParseReport] = []
        options = replace(DEFAULT_OPTIONS, batch_files=batch_files)
        found = parse_tree(tree, files, toolchain(), pool, options=options, report=reports.append)
        pool.close()
        assert reports[0].headers == reports[0].units_audited == 1 and (tree / ".megacpp/pch/0.pch").is_file()
        outcomes.append(([(file.path, list(file.symbols), file.includes, calls(file)) for file in found], reports))
    assert outcomes[0] == outcomes[1]


PICK = "#pragma once\nint pick(int);\nlong choose(long);\n"
OTHER = '#define pick choose\n#include "pick.h"\nlong use() { return pick(1); }\n'
"""What a header means is changed by a macro that it does not ask for, which no plan foresees."""


def test_a_header_that_changes_a_units_calls_is_dropped(tmp_path: Path) -> None:
    tree = {"pick.h": PICK, **{f"use{index}.cpp": OTHER for index in range(4)}}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.headers, report.dropped) == (1, 1)
    assert report.calls_differing > 0
    assert [calls(file) for file in found.values()] == [calls(file) for file in without.values()]


SPOILED = {
    "has errors anyway": OTHER.replace("1", "unknown"),
    "has errors with the header": OTHER.replace("choose", "other"),
    "has no call": '#include "pick.h"\nlong use;\n',
}


@pytest.mark.parametrize("first", SPOILED.values(), ids=SPOILED)
def test_a_sample_without_calls_is_extended(tmp_path: Path, first: str) -> None:
    units = by_hash(f"use{index}.cpp" for index in range(40))
    tree = {"pick.h": PICK, **dict.fromkeys(units, OTHER), units[0]: first}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.dropped, report.units_audited, report.calls_compared) == (1, 2, 1)
    assert [calls(found[path]) for path in units] == [calls(without[path]) for path in units]
    assert states(found) == states(without)


def test_a_header_without_compared_calls_is_dropped(tmp_path: Path) -> None:
    mute = {f"mute{index}.cpp": '#include "lib.h"\nint mute;\n' for index in range(60)}
    lacking = '#include "none.h"\nint lacking() { return twice(1); }\n'
    tree = {**TREE, **mute, "lacking.cpp": lacking}
    tree = {path: text for path, text in tree.items() if not path.startswith("src/")}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.headers, report.dropped, report.units_audited, report.calls_compared) == (1, 1, len(tree) // 20, 0)
    assert states(found) == states(without)


def test_another_choice_among_equal_candidates_counts_as_equal(tmp_path: Path) -> None:
    # Before a template's argument is known, either may be meant; the first in path order is taken.
    use = '#include "z.h"\ntemplate <class T> int use(T v) { return pick(v); }\n'
    tree = {
        "a.h": "#pragma once\ntemplate <class T> int pick(T *);\n",
        "z.h": "#pragma once\ntemplate <class T> int pick(T);\n",
        **{f"use{index}.cpp": use for index in range(40)},
        **{f"other{index}.cpp": '#include "a.h"\n' for index in range(2)},
    }
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert calls(found["use0.cpp"]) != calls(without["use0.cpp"])
    assert (report.headers, report.dropped, report.calls_compared, report.calls_differing) == (1, 0, 1, 0)


def test_headers_that_share_one_of_the_tree_keep_calls_includes_and_errors(tmp_path: Path) -> None:
    users = {
        f"use{index}.h": f'#pragma once\n#include "lib.h"\ninline int use{index}() {{ return twice({index}); }}\n'
        for index in range(34)
    }
    # The plan follows includes without a condition only: a unit of the layer lies in what it shares.
    lib = LIB.replace("#endif\n", '#if 1\n#include "../use3.h"\n#endif\n#endif\n')
    tree = {**TREE, **users, "include/lib.h": lib}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert '"../../include/lib.h"' in (tmp_path / "with/.megacpp/pch/1.h").read_text()
    assert (report.headers, report.dropped, report.calls_differing) == (2, 0, 0)
    for path, plain in without.items():
        quick = found[path]
        assert (quick.status, quick.errors, quick.includes) == (plain.status, plain.errors, plain.includes)
        assert calls(quick) == calls(plain)
    assert calls(found["use3.h"])


def test_a_header_with_the_guard_of_one_that_is_shared_keeps_its_calls(tmp_path: Path) -> None:
    user = '#pragma once\n#include "lib.h"\ninline int use() { return twice(1); }\n'
    users = {f"use{index}.h": user for index in range(34)}
    copy = LIB.replace('#include "part.h"\n', '#include "lib.h"\n#include "part.h"\n')
    outer = '#pragma once\n#include "lib.h"\n#include "part.h"\n'
    tree = {**TREE, **users, "old/copy.h": copy, "use0.h": outer}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert '"../../include/lib.h"' in (tmp_path / "with/.megacpp/pch/1.h").read_text()
    assert calls(without["old/copy.h"]) and report.dropped == 0
    assert [calls(found[path]) for path in tree] == [calls(without[path]) for path in tree]
    assert states(found) == states(without)


def test_a_hollow_file_is_parsed_without_function_bodies(tmp_path: Path) -> None:
    body = "int twice(int v) { return v * unknown; }\n"
    tree = {"all.cpp": '#include "part.cpp"\n', "some.cpp": '#include "part.cpp"\nint x;\n', "part.cpp": body}
    found, _ = parse(tmp_path, tree, precompile=False)
    assert {path: file.errors for path, file in found.items()} == {"all.cpp": 0, "some.cpp": 1, "part.cpp": 1}
    assert found["all.cpp"].includes == ("part.cpp",)


BROKEN = ["#pragma once\n#error no\n", '#pragma once\n#include "/etc/passwd"\n', '#pragma once\n#include "none.h"\n']


@pytest.mark.parametrize("text", BROKEN)
def test_if_a_tree_header_is_broken_only_outside_headers_are_shared(tmp_path: Path, text: str) -> None:
    tree = {**TREE, "include/part.h": text}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.headers, report.unbuilt, report.units_audited, report.dropped) == (1, 0, 1, 0)
    assert [calls(found[path]) for path in tree] == [calls(without[path]) for path in tree]
    assert "lib.h" not in (tmp_path / "with/.megacpp/pch/0.h").read_text()
    assert states(found) == states(without)


def test_units_of_a_header_that_cannot_be_built_are_parsed_without_it(tmp_path: Path) -> None:
    # The compiler has this one, but it only passes on to that of another system.
    tree = {f"use{index}.cpp": f"#include <intrin.h>\nint use{index}();\n" for index in range(4)}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.headers, report.unbuilt, report.units_audited) == (1, 1, 0)
    assert states(found) == states(without)


def test_errors_from_the_shared_header_are_removed_by_a_second_parse(tmp_path: Path) -> None:
    odd = '#ifdef LIB_H\n#error first\n#endif\n#include "lib.h"\nint odd() { return twice(1); }\n'
    found, report = parse(tmp_path, {**TREE, "src/odd.cpp": odd}, precompile=True)
    assert report.dropped == 0
    assert found["src/odd.cpp"].status == "clean"
    assert calls(found["src/odd.cpp"])


def test_a_tree_with_our_folder_name_shares_no_headers(tmp_path: Path) -> None:
    found, report = parse(tmp_path, {**TREE, ".megacpp/own.txt": "the tree's own"}, precompile=True)
    assert report == ParseReport()
    assert {file.status for file in found.values()} == {"clean"}
