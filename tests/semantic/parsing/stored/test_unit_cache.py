"""What is parsed again after a change, and that the outcome never tells whether anything was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from megacpp_assets.compute.executors.executor import BatchExecutor, Outcome
from megacpp_assets.compute.executors.folders import SharedFolder
from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.semantic.parsing import precompiled
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS, parse_tree
from megacpp_assets.semantic.parsing.parsed import Cursors, ParsedFile, Symbol
from megacpp_assets.semantic.parsing.report import ParseReport
from megacpp_assets.semantic.parsing.stored.unit_cache import Memory
from megacpp_assets.semantic.parsing.stored.unit_entry import from_bytes, to_bytes
from megacpp_assets.semantic.parsing.worker import UnitResult, parse_batch
from megacpp_assets.storage.caching.cache import Cache
from tests.semantic.parsing_trees import IN_PROCESS, InProcess, here, toolchain, write_tree
from tests.semantic.slow_parser import as_columns

LIBRARY = {
    "include/lib/base.h": "#pragma once\nnamespace lib { int twice(int v); }\n",
    "include/lib/more.h": '#pragma once\n#include "lib/base.h"\nnamespace lib { int thrice(int v); }\n',
    "src/base.cc": '#include "lib/base.h"\nint lib::twice(int v) { return v + v; }\n',
    "src/more.cc": '#include "lib/more.h"\nint lib::thrice(int v) { return lib::twice(v) + v; }\n',
    "src/main.cc": "#include <stdio.h>\n#include <lib/more.h>\nint main() { return lib::thrice(EOF); }\n",
    "src/alone.c": "int alone(void) { return 1; }\n",
}  # fmt: skip
SHARING = {
    "include/lib.h": '#pragma once\n#include "part.h"\ninline int twice(int v) { return part(v) * 2; }\n',
    "include/part.h": "#pragma once\n#include <stddef.h>\nint part(int v);\n",
    **{
        f"src/use{index}.cpp": f'#include <stddef.h>\n#include "lib.h"\nint use{index}(size_t s) '
        f"{{ return twice({index}) + part(s); }}\n"
        for index in range(5)
    },
}
"""Five units of equal arguments that share both headers."""
KILLER = "int x = " + "!" * 10_000 + "0;\n"


def comparable(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(comparable(part) for part in value)
    return (value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else value


def facts(files: list[ParsedFile]) -> list[Any]:
    return [comparable(astuple(file)) for file in files]


class Line:
    """Trees parsed one after another over one memory, each compared with a parse that remembers nothing."""

    def __init__(self, folder: Path, *, precompile: bool) -> None:
        self.folder = folder
        self.store = Cache(folder / "cache")
        self.precompile = precompile
        self.runs = 0

    def parse(self, tree: Mapping[str, str], executor: Any = None, **options: Any) -> tuple[int, int]:
        """(units parsed, units reused) of a tree that lies in a place of its own."""
        self.runs += 1
        files = write_tree(self.place, tree)
        memory = Memory(self.store)
        reports: list[ParseReport] = []
        chosen = replace(IN_PROCESS if executor is None else DEFAULT_OPTIONS, precompile=self.precompile)
        chosen = replace(chosen, **options)
        executor = executor or InProcess()
        found = parse_tree(
            self.place, files, toolchain(), executor, options=chosen, report=reports.append, memory=memory
        )
        self.built = (self.place / ".megacpp/pch").exists()
        plain = parse_tree(self.place, files, toolchain(), executor, options=chosen, report=reports.append)
        assert facts(found) == facts(plain)
        assert reports[0] == reports[1]
        self.report = reports[0]
        assert memory.parsed + memory.reused == len(found)
        assert memory.included == Counter(path for file in found for path in file.includes)
        return memory.parsed, memory.reused

    @property
    def place(self) -> Path:
        return self.folder / f"tree{self.runs}"


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(tmp_path, precompile=False)


@pytest.fixture
def sharing(tmp_path: Path) -> Line:
    return Line(tmp_path, precompile=True)


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalPool]:
    executor = LocalPool(1)
    yield executor
    executor.close()


def test_nothing_is_parsed_again_without_a_change(line: Line) -> None:
    assert line.parse(LIBRARY) == (6, 0)
    assert line.parse(LIBRARY) == (0, 6)


def test_one_changed_source_parses_one_unit_and_its_old_state_is_still_known(line: Line) -> None:
    line.parse(LIBRARY)
    assert line.parse(LIBRARY | {"src/base.cc": LIBRARY["src/base.cc"].replace("v + v", "2 * v")}) == (1, 5)
    assert line.parse(LIBRARY) == (0, 6)


def test_a_changed_header_and_its_includers_are_parsed_again(line: Line) -> None:
    line.parse(LIBRARY)
    changed = LIBRARY | {"include/lib/more.h": LIBRARY["include/lib/more.h"] + "int extra();\n"}
    assert line.parse(changed) == (3, 3)
    assert line.parse(LIBRARY | {"include/lib/base.h": LIBRARY["include/lib/base.h"] + "\n"}) == (5, 1)
    assert line.parse(changed) == (0, 6)


def test_a_new_file_is_parsed_and_no_other_unless_an_include_would_now_find_it(line: Line) -> None:
    asking = LIBRARY | {"src/ask.cc": '#if __has_include("extra.h")\nint extra();\n#endif\nint ask();\n'}
    line.parse(asking)
    assert line.parse(asking | {"src/new.cc": "int fresh();\n"}) == (1, 7)
    assert line.parse(asking | {"src/extra.h": "\n"}) == (2, 6)
    assert line.parse(asking | {"src/lib/base.h": "int hidden();\n"}) == (6, 2)


def test_a_vanished_header_parses_its_includers(line: Line) -> None:
    line.parse(LIBRARY)
    left = {path: text for path, text in LIBRARY.items() if path != "include/lib/more.h"}
    assert line.parse(left) == (2, 3)


def test_a_header_that_appears_causes_a_parse_of_its_includers(line: Line) -> None:
    asking = {"a.cc": '#include "late.h"\nint a = LATE;\n', "b.cc": "int b;\n"}
    line.parse(asking)
    assert line.parse(asking) == (0, 2)
    assert line.parse(asking | {"late.h": "#define LATE 1\n"}) == (2, 1)


def test_a_forced_include_counts_as_one(line: Line) -> None:
    entry = '[{"directory": "/b", "file": "/b/src/alone.c", "arguments": ["cc", "%s", "force.h"]}]'
    for option in ("-include", "-imacros"):
        tree = LIBRARY | {"force.h": "#define FORCED 1\n", "compile_commands.json": entry % option}
        line.parse(tree)
        assert line.parse(tree) == (0, 7)
        assert line.parse(tree | {"force.h": "#define FORCED 2\n"}) == (7, 0)


@pytest.mark.parametrize(
    "option", [{"limits": replace(IN_PROCESS.limits, wall_s=7.0)}, {"limits": replace(IN_PROCESS.limits, cursors=10)}]
)
def test_changed_limits_cause_a_parse(line: Line, option: dict[str, Any]) -> None:
    line.parse(LIBRARY)
    assert line.parse(LIBRARY, **option) == (6, 0)
    assert line.parse(LIBRARY, **option) == (0, 6)


def test_damaged_and_exchanged_entries_are_parsed_again(line: Line) -> None:
    line.parse(LIBRARY)
    entries = sorted(path for path in (line.folder / "cache").rglob("*") if path.is_file())
    first = entries[0].read_bytes()
    for entry in entries[1:]:
        entry.write_bytes(first)
    entries[0].write_bytes(first[: len(first) // 2])
    assert line.parse(LIBRARY) == (6, 0)
    assert line.parse(LIBRARY) == (0, 6)


def test_a_file_that_kills_the_parser_is_quarantined_until_it_or_its_headers_change(
    line: Line, pool: LocalPool
) -> None:
    tree = {"good.cc": "int good();\n", "bad.cc": '#include "part.h"\n' + KILLER, "part.h": "\n"}
    assert line.parse(tree, pool) == (3, 0)
    assert line.parse(tree, pool) == (0, 3)
    assert line.parse(tree | {"part.h": "int part();\n"}, pool) == (2, 1)
    assert line.parse(tree | {"bad.cc": '#include "part.h"\nint cured();\n'}, pool) == (1, 2)


def test_a_quarantined_file_keeps_its_reason_and_reaches_no_worker(tmp_path: Path, pool: LocalPool) -> None:
    files = write_tree(tmp_path / "tree", {"bad.cc": KILLER})
    store = Cache(tmp_path / "cache")
    first = parse_tree(tmp_path / "tree", files, toolchain(), pool, memory=Memory(store))
    # In this process: a second try would end the tests.
    again = parse_tree(tmp_path / "tree", files, toolchain(), InProcess(), memory=Memory(store))
    assert facts(first) == facts(again)
    assert again[0].reason == "crash: the parser did not survive the file"


class Loaded:
    """This process, where every batch that holds `victim` fails with `failure`; of those with a header, if `shared`."""

    def __init__(self, failure: str, victim: str, *, shared: bool) -> None:
        self.failure, self.victim, self.shared = failure, victim, shared

    def run(
        self, function: Callable[[Any], Any], batches: Sequence[Any], *, timeout_s: float
    ) -> Iterator[Outcome[Any]]:
        for index, batch in enumerate(batches):
            struck = function is parse_batch and any(unit.path == self.victim for unit in batch.units)
            if struck and bool(batch.header) >= self.shared:
                yield Outcome(index, None, self.failure)
            else:
                yield Outcome(index, here(function, batch))

    def provide(self, *folders: SharedFolder) -> None:
        for folder in folders:
            folder.prepare(folder.path)

    @property
    def here(self) -> BatchExecutor:
        return self

    def close(self) -> None: ...


FAILURES = {
    "timeout: no answer in 120 s": False,
    "crash: worker ended with exit code -9": False,
    "crash: worker ended with exit code -11": True,
    "crash: worker ended with exit code -24": True,
}


@pytest.mark.parametrize(("failure", "kept"), FAILURES.items())
@pytest.mark.parametrize("shared", [False, True])
def test_a_failure_that_the_machine_may_have_caused_is_not_cached(
    tmp_path: Path, failure: str, kept: bool, shared: bool
) -> None:
    tree, store, victim = tmp_path / "tree", Cache(tmp_path / "cache"), "src/use0.cpp"
    files = write_tree(tree, SHARING)

    def parse(executor: Any) -> tuple[dict[str, ParsedFile], int]:
        memory = Memory(store)
        found = parse_tree(tree, files, toolchain(), executor, options=IN_PROCESS, memory=memory)
        return {file.path: file for file in found}, memory.parsed

    struck, _ = parse(Loaded(failure, victim, shared=shared))
    again, parsed = parse(InProcess())
    lost = not shared or failure.endswith("-24")  # CPU seconds are spent once: a header only ever spares some
    assert (struck[victim].status == "failed") is lost
    assert (again[victim].status, parsed) == (("failed", 0) if kept and lost else ("clean", 0 if kept else 1))


def test_files_elsewhere_on_the_machine_do_not_change_the_key(line: Line) -> None:
    tree = {"climbs.cc": '#include "../host.h"\n', "names.cc": f'#include "{line.folder}/host.h"\n', "fine.cc": ""}
    assert line.parse(tree) == (3, 0)
    (line.folder / "host.h").write_text("int host;\n")
    assert line.parse(tree) == (0, 3)


def test_a_unit_with_a_link_out_of_the_tree_is_not_cached(line: Line) -> None:
    files = write_tree(line.folder / "tree", {"a.cc": '#include "link.h"\n'})
    (line.folder / "tree/link.h").symlink_to(line.folder / "host.h")
    (line.folder / "host.h").write_text("int host;\n")
    for _ in range(2):
        memory = Memory(line.store)
        parse_tree(line.folder / "tree", files, toolchain(), InProcess(), options=IN_PROCESS, memory=memory)
        assert (memory.parsed, memory.reused) == (1, 0)


def test_no_header_is_built_if_all_its_units_are_cached(sharing: Line) -> None:
    assert sharing.parse(SHARING) == (7, 0)
    assert (sharing.report.headers, sharing.report.units_audited) == (1, 1)
    assert sharing.built
    assert sharing.parse(SHARING) == (0, 7)
    assert not sharing.built


def test_one_changed_unit_is_parsed_with_the_header_it_shares(sharing: Line) -> None:
    sharing.parse(SHARING)
    for path in sorted(SHARING)[2:]:  # the audited one among them
        assert sharing.parse(SHARING | {path: SHARING[path] + "int more;\n"}) == (1, 6)
        assert sharing.built


def test_a_change_in_a_shared_header_parses_all_that_share_it(sharing: Line) -> None:
    tree = SHARING | {"src/other.cpp": "int other();\n"}
    sharing.parse(tree)
    assert sharing.parse(tree | {"include/part.h": SHARING["include/part.h"] + "int more;\n"}) == (8, 0)
    assert sharing.parse(tree | {"include/part.h": SHARING["include/part.h"]}) == (0, 8)


def test_a_new_unit_parses_itself_unless_it_changes_what_its_group_shares(sharing: Line) -> None:
    tree = SHARING | {"src/use0.cpp": "#include <string.h>\n" + SHARING["src/use0.cpp"]}
    sharing.parse(tree)
    known = SHARING["src/use1.cpp"].replace("use1", "use9")
    assert sharing.parse(tree | {"src/use9.cpp": known}) == (1, 7)
    assert sharing.parse(tree | {"src/use9.cpp": "#include <stdlib.h>\n" + known}) == (1, 7)
    # Now two units include <string.h>: the group's header holds it from here on, and what it makes visible may change
    # any of its six units.
    assert sharing.parse(tree | {"src/use9.cpp": "#include <string.h>\n" + known}) == (6, 2)


def test_a_new_unit_changes_at_most_the_units_of_its_part(sharing: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompiled, "_MAX_UNITS", 8)
    tree = {f"src/use{index}.cpp": f"#include <stddef.h>\nsize_t use{index};\n" for index in range(32)}
    tree["src/use0.cpp"] += "#include <string.h>\n"
    assert sharing.parse(tree) == (32, 0)
    parsed, reused = sharing.parse(tree | {"src/new.cpp": "#include <stddef.h>\n#include <string.h>\n"})
    assert (parsed <= 8 + 1, parsed + reused) == (True, 33)


def test_a_header_that_failed_its_audit_is_not_tried_again(sharing: Line) -> None:
    unit = '#define pick choose\n#include "pick.h"\nlong use() { return pick(1); }\n'
    tree = {
        "pick.h": "#pragma once\nint pick(int);\nlong choose(long);\n",
        **{f"use{index}.cpp": unit for index in range(4)},
    }
    assert sharing.parse(tree) == (5, 0)
    assert sharing.parse(tree) == (0, 5)
    assert sharing.report.dropped == 1
    assert not sharing.built


def test_a_header_that_cannot_be_built_is_not_tried_again_until_it_changes(sharing: Line) -> None:
    # The compiler has this one, but it only passes on to that of another system.
    tree = {f"use{index}.cpp": f"#include <intrin.h>\nint use{index}();\n" for index in range(4)}
    assert sharing.parse(tree) == (4, 0)
    assert sharing.parse(tree) == (0, 4)
    assert sharing.report.unbuilt == 1
    assert not sharing.built


def test_a_reduced_shared_header_is_cached_by_all_files_of_the_full_one(sharing: Line) -> None:
    broken = SHARING | {"include/part.h": "#pragma once\n#error no\n"}
    assert sharing.parse(broken) == (7, 0)
    assert sharing.parse(broken) == (0, 7)
    assert not sharing.built
    assert sharing.parse(SHARING) == (7, 0)


def test_a_file_that_dies_with_and_without_its_header_is_quarantined(sharing: Line, pool: LocalPool) -> None:
    tree = SHARING | {"src/use0.cpp": SHARING["src/use0.cpp"] + KILLER}
    assert sharing.parse(tree, pool) == (7, 0)
    assert sharing.parse(tree, pool) == (0, 7)


def test_a_result_survives_serialization() -> None:
    count = 3
    columns = {
        name: np.arange(count).astype(kind)
        for name, kind in zip(
            Cursors.__dataclass_fields__, ("u2", "u4", "u4", "u2", "u2", "i4", "i4", "i4", "u1"), strict=True
        )
    }
    columns["declares"] = np.array([-1, 0, 1], np.int32)
    columns["parent"] = np.array([-1, 0, 1], np.int32)
    symbols = as_columns([Symbol(1, "", 8, ""), Symbol(2**64 - 1, "a::b\ufffd\0\u2028", 21, "b")])
    file = ParsedFile(
        "é/a b.cc", "errors", "nearest", "", 3, "é", Cursors(**columns), symbols, ("x.h",), ((1, 2), (5, 9))
    )
    checks = np.array([[1, 2**64 - 1]], np.uint64)
    back = from_bytes(to_bytes(UnitResult(file, checks, ("/usr/include/x.h",), 30, 4, shares=True, missing=2)))
    assert facts([back.file]) == facts([file])
    assert comparable(back.checks) == comparable(checks)
    assert (back.calls, back.differing, back.shares, back.missing) == (30, 4, True, 2)
    failed = ParsedFile("a.cc", "failed", "inferred", "timeout: it never ended")
    assert from_bytes(to_bytes(UnitResult(failed))).file == failed
