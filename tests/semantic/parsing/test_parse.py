from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.contract.errors import OverBudget
from megacpp_assets.semantic.parsing.budget import OVER_BUDGET, Budget
from megacpp_assets.semantic.parsing.parse import COLLISION, DEFAULT_OPTIONS, _colliding, parse_tree
from megacpp_assets.semantic.parsing.parsed import Cursors, ParsedFile
from megacpp_assets.semantic.parsing.report import ParseReport
from megacpp_assets.semantic.parsing.stored.unit_cache import Memory
from megacpp_assets.semantic.parsing.worker import Limits, one_line
from megacpp_assets.storage.caching.cache import Cache
from tests.semantic.parsing_trees import IN_PROCESS, InProcess, parse_in_process, toolchain, write_tree

GOOD = {
    "include/lib.h": "#pragma once\nnamespace lib { int twice(int v); template <class T> T same(T v) { return v; } }\n",
    "src/lib.cpp": '#include "lib.h"\nint lib::twice(int v) { return same(v) + v; }\n',
    "src/main.cpp": '#include <vector>\n#include "lib.h"\nint main() { return lib::twice(std::vector<int>(2)[0]); }\n',
    "src/plain.c": "#include <stdio.h>\nint main(void) { return puts(\"x\"); }\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalPool]:
    executor = LocalPool(2)
    yield executor
    executor.close()


def facts(file: ParsedFile) -> Any:
    """A comparable form of everything in `file`."""
    arrays = None
    if file.cursors is not None:
        arrays = [getattr(file.cursors, name).tolist() for name in Cursors.__dataclass_fields__]
    return file.path, file.status, file.mode, file.reason, file.errors, arrays, tuple(file.symbols), file.includes


def test_a_tree_parses_to_one_clean_value_per_selected_file_in_path_order(tmp_path: Path) -> None:
    found = parse_in_process(tmp_path, GOOD)
    assert list(found) == sorted(GOOD)
    assert {(file.status, file.mode) for file in found.values()} == {("clean", "inferred")}
    assert found["src/lib.cpp"].includes == ("include/lib.h",)
    defined = found["src/lib.cpp"].cursors
    used = found["src/main.cpp"].cursors
    assert defined is not None
    assert used is not None
    (twice,) = {symbol.usr for symbol in found["src/main.cpp"].symbols if symbol.qualified_name == "lib::twice"}
    assert twice in found["src/lib.cpp"].symbols.usrs(defined.declares)
    assert twice in found["src/main.cpp"].symbols.usrs(used.uses)


def test_two_places_of_the_tree_and_two_workers_give_equal_values(tmp_path: Path, pool: LocalPool) -> None:
    short, long = tmp_path / "s", tmp_path / ("long" * 30) / "t"
    parsed = []
    for tree, options in ((short, DEFAULT_OPTIONS), (long, replace(DEFAULT_OPTIONS, batch_files=1))):
        files = write_tree(tree, {**GOOD, "src/odd.cpp": "auto f = [] { struct { int v; } s; return s; };\n"})
        parsed.append(parse_tree(tree, files, toolchain(), pool, options=options))
    assert [facts(file) for file in parsed[0]] == [facts(file) for file in parsed[1]]
    assert str(tmp_path) not in repr([facts(file) for file in parsed[1]])


def test_a_file_that_kills_the_parser_loses_only_itself(tmp_path: Path, pool: LocalPool) -> None:
    killers = {
        "bad/nots.cpp": "int f() { return " + "!" * 30_000 + "1; }\n",
        "bad/sum.cpp": "int f() { return " + "1+" * 100_000 + "1; }\n",
    }
    files = write_tree(tmp_path, {**GOOD, **killers})
    steps: list[tuple[int, int]] = []
    parsed = parse_tree(tmp_path, files, toolchain(), pool, lambda done, total: steps.append((done, total)))
    alone = write_tree(tmp_path / "alone", GOOD)
    expected = parse_tree(tmp_path / "alone", alone, toolchain(), pool)
    by_path = {file.path: file for file in parsed}
    assert {path: by_path[path].status for path in killers} == dict.fromkeys(killers, "failed")
    assert {by_path[path].reason for path in killers} == {"crash: the parser did not survive the file"}
    assert [facts(by_path[file.path]) for file in expected] == [facts(file) for file in expected]
    assert steps[-1] == (len(files), len(files))


def test_a_shared_header_that_crashes_the_parser_fails_only_its_includers(tmp_path: Path, pool: LocalPool) -> None:
    deadly = "#pragma once\nstatic int sum = " + "1+" * 200_000 + "1;\n"
    users = {f"use{index}.cpp": '#include "deadly.h"\nint a;\n' for index in range(2)}
    good = {f"good{index}.cpp": "#include <cstdio>\nint a;\n" for index in range(3)}
    files = write_tree(tmp_path, {"deadly.h": deadly, **users, **good})
    reports: list[ParseReport] = []
    parsed = parse_tree(tmp_path, files, toolchain(), pool, report=reports.append)
    assert {file.path for file in parsed if file.status == "failed"} == {"deadly.h", *users}
    assert {file.path for file in parsed if file.status == "clean"} == set(good)
    assert (reports[0].headers, reports[0].unbuilt) == (1, 1)


def test_a_file_that_never_ends_is_stopped_by_its_cpu_limit(tmp_path: Path, pool: LocalPool) -> None:
    endless = "template <int N, int M> struct F { enum { v = F<N - 1, M * 2>::v + F<N - 1, M * 2 + 1>::v }; };\n"
    endless += "template <int M> struct F<0, M> { enum { v = M }; };\nint x = F<26, 1>::v;\n"
    files = write_tree(tmp_path, {"a.cpp": "int a();\n", "endless.cpp": endless})
    options = replace(DEFAULT_OPTIONS, limits=Limits(cpu_s=1))
    good, bad = parse_tree(tmp_path, files, toolchain(), pool, options=options)
    assert good.status == "clean"
    assert bad.status == "failed"


def test_a_file_outside_the_tree_does_not_exist_for_the_parser(tmp_path: Path) -> None:
    canary = tmp_path / "canary.h"
    canary.write_text("int CANARY_b71f;\n")
    tree = tmp_path / "tree"
    hostile = {
        "absolute.cpp": f'#include "{canary}"\nint a;\n',
        "climb.cpp": '#include "../canary.h"\nint a;\n',
        "passwd.cpp": '#include "/etc/passwd"\nint a;\n',
        "pipe.cpp": '#include "/proc/self/fd/0"\nint a;\n',
        "probe.cpp": f'#if __has_include("{canary}") || __has_include("/etc/passwd")\n#error seen\n#endif\n',
        "link.cpp": '#include "link.h"\nint a;\n',
    }
    files = write_tree(tree, hostile)
    (tree / "link.h").symlink_to(canary)
    found = {file.path: file for file in parse_in_process_of(tree, files)}
    assert {path: file.errors for path, file in found.items()} == {
        **dict.fromkeys(hostile, 1), "probe.cpp": 0, "link.cpp": 0,
    }  # fmt: skip
    assert (found["link.cpp"].status, found["link.cpp"].reason) == ("failed", "reads outside the tree: 1 files")
    assert "CANARY_b71f" not in repr([facts(file) for file in found.values()])


def parse_in_process_of(tree: Path, files: Any) -> list[ParsedFile]:
    from tests.semantic.parsing_trees import IN_PROCESS, InProcess

    return parse_tree(tree, files, toolchain(), InProcess(), options=IN_PROCESS)


def test_hostile_arguments_of_a_database_write_nothing(tmp_path: Path) -> None:
    from tests.semantic.commands.test_arguments import HOSTILE

    tree, evil = tmp_path / "tree", tmp_path / "evil"
    arguments = [
        piece.replace("/tmp/evil.py", str(evil)).replace("evil", str(evil)) for one in HOSTILE for piece in one
    ]
    names = [f"f{index}.cpp" for index in range(len(HOSTILE))]
    entries = [
        {"directory": str(tree), "file": name, "arguments": ["c++", *one]}
        for name, one in zip(names, HOSTILE, strict=True)
    ]
    entries.append({"directory": str(tree), "file": "all.cpp", "arguments": ["c++", *arguments]})
    sources = dict.fromkeys([*names, "all.cpp"], "int a;\n")
    files = write_tree(tree, {**sources, "compile_commands.json": json.dumps(entries)})
    before = {path.relative_to(tmp_path) for path in tmp_path.rglob("*")}
    parsed = parse_in_process_of(tree, files)
    assert {(file.status, file.mode) for file in parsed} == {("clean", "database")}
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*")} - before == {
        Path("tree.view.json")
    }  # fmt: skip


def test_a_file_knows_the_standard_that_it_was_parsed_with(tmp_path: Path) -> None:
    files = {"CMakeLists.txt": "set(CMAKE_CXX_STANDARD 20)\n", "a.cpp": "int a;\n", "b.c": "int b;\n"}
    found = parse_in_process(tmp_path, files)
    assert (found["a.cpp"].standard, found["b.c"].standard) == ("c++20", "gnu11")


def test_a_missing_include_is_an_error_and_the_rest_is_still_parsed(tmp_path: Path) -> None:
    text = '#include "missing.h"\nint a() { return 1; }\nint b = a();\n'
    found = parse_in_process(tmp_path, {"a.cpp": text})["a.cpp"]
    assert (found.status, found.errors, found.first_error) == ("errors", 1, "'missing.h' file not found")
    assert "a" in {symbol.qualified_name for symbol in found.symbols}


def test_the_first_error_is_kept_in_one_line(tmp_path: Path) -> None:
    texts = {"a.cpp": f"made_{'x' * 300} a;\nother b;\n", "b.cpp": "int good;\n"}
    found = parse_in_process(tmp_path, texts)
    assert found["a.cpp"].first_error == f"unknown type name 'made_{'x' * 300}'"[:200]
    assert found["b.cpp"].first_error == "" and one_line("a\n\x1b[31mé".encode() + b"\xff") == "a[31mé\ufffd"


def test_the_environment_of_the_caller_does_not_change_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path / "host", {"only_here.h": "int host;\n"})
    monkeypatch.setenv("CPATH", str(tmp_path / "host"))
    found = parse_in_process(tmp_path / "tree", {"a.cpp": "#include <only_here.h>\n"})["a.cpp"]
    assert found.status == "errors"
    assert "CPATH" in os.environ


def test_if_two_symbols_share_a_hash_the_later_file_fails() -> None:
    def pairs(*rows: tuple[int, int]) -> NDArray[np.uint64]:
        return np.array(rows, np.uint64).reshape(-1, 2)

    first, other = pairs((7, 1), (8, 2)), pairs((7, 3), (9, 1))
    assert _colliding({"a": first, "b": first, "c": pairs()}) == []
    assert _colliding({"a": first, "b": other, "c": first, "d": pairs((7, 3))}) == ["b", "d"]
    assert _colliding({"b": other, "a": first, "c": pairs((9, 2)), "d": pairs((8, 5))}) == ["a", "c"]
    many = {f"{index:03}": pairs((index, 1), (index + 1, 1)) for index in range(200)}
    assert _colliding({**many, "x": pairs((3, 2)), "y": pairs((199, 1))}) == ["x"]


FORGED = ("cKPd8Gemp6sgB6", "eF_8_M3Uz145F3")
"""Two names whose functions' USRs have one 64-bit hash."""


@pytest.mark.parametrize("batch_files", [1, 16])
def test_a_forged_collision_loses_the_later_file_and_no_other(
    tmp_path: Path, pool: LocalPool, batch_files: int
) -> None:
    one, two = (f"int {name}() {{ return 1; }}\n" for name in FORGED)
    files = write_tree(
        tmp_path, {**GOOD, "a/one.cpp": one, "b/two.cpp": two, "c/uses_one.cpp": one, "d/both.cpp": one + two}
    )
    options = replace(DEFAULT_OPTIONS, batch_files=batch_files)
    found = {file.path: file for file in parse_tree(tmp_path, files[::-1], toolchain(), pool, options=options)}
    alone = {file.path: file for file in parse_in_process_of(tmp_path / "alone", write_tree(tmp_path / "alone", GOOD))}
    assert {path: file.reason for path, file in found.items() if file.status != "clean"} == {
        "b/two.cpp": COLLISION,
        "d/both.cpp": "two symbols share one 64-bit hash",
    }
    assert found["b/two.cpp"].cursors is None
    assert [facts(found[path]) for path in GOOD] == [facts(alone[path]) for path in GOOD]


BOMB = "static_assert(~(unsigned _BitInt(8388608))0/3==1);\n"
"""Writing out the number that differs takes minutes."""


def test_a_file_over_its_cpu_limit_is_not_tried_again_and_reported(tmp_path: Path, pool: LocalPool) -> None:
    limits = Limits(cpu_s=3, again_cpu_s=1)
    files = write_tree(tmp_path, {**GOOD, "bomb.cpp": BOMB})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    executor = LocalPool(1)
    parsed = parse_tree(tmp_path, files, toolchain(), executor, options=replace(DEFAULT_OPTIONS, limits=limits))
    executor.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    by_path = {file.path: file for file in parsed}
    assert by_path["bomb.cpp"].reason == "over budget: not parsed in 3 CPU seconds"
    alone = parse_tree(tmp_path / "alone", write_tree(tmp_path / "alone", GOOD), toolchain(), pool)
    assert [facts(by_path[file.path]) for file in alone] == [facts(file) for file in alone]
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < 3 + 1 + 30, "one try of it, one worker's start, and the good files"


def test_the_files_past_a_repositorys_budget_are_rejected_in_a_fixed_order(tmp_path: Path, pool: LocalPool) -> None:
    tree = {f"{name}.cpp": f"#include <vector>\nstd::vector<int> {name};\n" for name in "abcdefgh"}
    store = Cache(tmp_path / "cache")
    budget = Budget(base_cpu_s=0, unit_cpu_s=0)
    found = []
    for run, batch_files in enumerate((1, 16, 3)):
        folder = tmp_path / str(run)
        options = replace(DEFAULT_OPTIONS, budget=budget, batch_files=batch_files)
        files = write_tree(folder, tree)
        memory = Memory(store)
        parsed = parse_tree(folder, files, toolchain(), pool, options=options, memory=memory)
        found.append([(file.path, file.reason) for file in parsed])
    assert found[0] == [("a.cpp", ""), *((f"{name}.cpp", OVER_BUDGET) for name in "bcdefgh")]
    assert found[0] == found[1] == found[2]


def test_a_parse_past_the_repositorys_wall_seconds_says_what_to_do(tmp_path: Path) -> None:
    files = write_tree(tmp_path, GOOD)
    options = replace(IN_PROCESS, limits=Limits(wall_s=0.0, applied=False), budget=Budget(wall_per_cpu=0))
    with pytest.raises(OverBudget, match=r"^indexing the repository; expected at most 0 .*; found more; what to do: "):
        parse_tree(tmp_path, files, toolchain(), InProcess(), options=options)
