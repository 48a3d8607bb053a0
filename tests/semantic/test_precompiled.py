from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.compute.local import LocalPool
from megacpp_assets.semantic import precompiled
from megacpp_assets.semantic.parse import DEFAULT_OPTIONS, HeaderReport, parse_tree
from megacpp_assets.semantic.parsed import ParsedFile
from megacpp_assets.semantic.plan import Unit
from megacpp_assets.semantic.precompiled import MIN_UNITS, SharedHeader, is_hollow, shared_headers
from tests.semantic.parsing_trees import IN_PROCESS, InProcess, toolchain, write_tree

GUARDED = "#ifndef LIB_H\n#define LIB_H\n"
LIB = GUARDED + '#include "part.h"\n#include <vector>\ninline int twice(int v) { return part(v) * 2; }\n#endif\n'
TREE = {
    "include/lib.h": LIB,
    "include/part.h": "#pragma once\n#include <string>\nstruct P { int v; };\nint part(int v);\n",
    **{
        f"src/use{index}.cpp": f'#include <string>\n#include "lib.h"\nint use{index}(std::string s) '
        f"{{ return twice({index}) + part(s.size()); }}\n"
        for index in range(5)
    },
}
PLAIN = replace(IN_PROCESS, precompile=False)
CALL = 103


def shared(texts: Mapping[str, str], arguments: tuple[str, ...] = ("-x", "c++", "-Iinclude")) -> list[SharedHeader]:
    units = [Unit(path, arguments, "inferred", path.endswith(".h")) for path in texts]
    random.Random(len(texts)).shuffle(units)
    return shared_headers(units, lambda path: texts[path].encode())


def included(header: SharedHeader) -> list[str]:
    return [line.removeprefix("#include ") for line in header.text.splitlines() if line.startswith("#include")]


def parse(folder: Path, tree: Mapping[str, str], *, precompile: bool) -> tuple[dict[str, ParsedFile], HeaderReport]:
    reports: list[HeaderReport] = []
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


def test_sources_share_what_two_of_them_include_and_headers_only_what_lies_outside() -> None:
    source, header = "#include <map>\n#include <lib.h>\n", "#pragma once\n#include <set>\n"
    texts = {
        **{f"{name}.cpp": source for name in "abcd"},
        **{f"include/{name}.h": f'{header}#include "lib.h"\n' for name in "abcd"},
    }
    sources, headers = shared({**texts, "include/lib.h": header, "d.cpp": f"{source}#include <only_mine>\n"})
    assert included(sources) == ["<map>", "<set>", '"../../include/lib.h"']
    assert [unit.path for unit in sources.units] == ["a.cpp", "b.cpp", "c.cpp", "d.cpp"]
    assert included(headers) == ["<set>"]


def test_no_header_serves_more_units_than_a_change_of_one_may_cost() -> None:
    texts = {f"src/use{index}.cc": "#include <map>\n" for index in range(1000)}
    plan = shared(texts)
    assert sorted(unit.path for header in plan for unit in header.units) == sorted(texts)
    assert all(MIN_UNITS <= len(header.units) <= 64 for header in plan)
    assert len(plan) < 1000 / (64 / 4)
    assert len(shared(dict(sorted(texts.items())[:64]))) == 1


@given(st.sets(st.integers(0, 200), min_size=1, max_size=60), st.integers(201, 400))
def test_a_unit_that_joins_changes_the_header_of_its_own_part_alone(present: set[int], fresh: int) -> None:
    texts = {f"{number}.cc": f"#include <map>\n#include <h{number}>\n" for number in present}
    joined = {f"{fresh}.cc": "#include <map>\n" + "".join(f"#include <h{number}>\n" for number in present)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(precompiled, "_MAX_UNITS", 8)
        before, after = set(shared(texts)), set(shared(texts | joined))
    assert len(before - after) <= 1
    assert all(
        f"{fresh}.cc" in {unit.path for unit in header.units} or len(before - after) for header in after - before
    )


def chain(*names: str) -> dict[str, str]:
    """Headers of which each includes the next."""
    following = dict(pairwise(names))
    return {name: f'#pragma once\n#include "{following.get(name, "<vector>")}"\n' for name in names}


def test_headers_share_one_of_the_tree_that_includes_none_of_them() -> None:
    users = {f"use{index}.h": '#pragma once\n#include "top.h"\n' for index in range(8)}
    below = chain("top.h", "middle.h", "low.h", "lowest.h")
    layer, rest = shared({**users, **below, "lowest.h": "#pragma once\n#include <map>\n#include <set>\n"})
    assert [unit.path for unit in layer.units] == sorted(users)
    assert included(layer) == ["<map>", "<set>", '"../../top.h"']
    assert [unit.path for unit in rest.units] == sorted(below)
    assert included(rest) == ["<map>", "<set>"]


def test_headers_that_include_each_other_share_neither() -> None:
    users = {f"use{index}.h": '#pragma once\n#include <map>\n#include "top.h"\n' for index in range(8)}
    (rest,) = shared({**users, "top.h": "#pragma once\n" + "".join(f'#include "{path}"\n' for path in users)})
    assert included(rest) == ["<map>"]


EDGES = st.sets(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=60)


@given(EDGES)
def test_no_header_lies_in_what_it_shares(edges: set[tuple[int, int]]) -> None:
    texts = {
        f"{n}.h": "#pragma once\n#include <map>\n" + "".join(f'#include "{b}.h"\n' for a, b in sorted(edges) if a == n)
        for n in range(16)
    }
    plan = shared(texts)
    sharing = [unit.path for header in plan for unit in header.units]
    assert len(sharing) == len(set(sharing)) and len(sharing) > 16 - MIN_UNITS
    for header in plan:
        reached = {line.rpartition("/")[2].rstrip('"') for line in included(header) if line.startswith('"')}
        for _ in texts:
            reached |= {f"{b}.h" for a, b in edges if f"{a}.h" in reached}
        assert not reached & {unit.path for unit in header.units}


@pytest.mark.parametrize(
    ("text", "hollow"),
    [
        ("", True),
        ("// only\n/* words\n;*/\n", True),
        ('#include "a.cpp"\n#  define TWO \\\n  2\r\n', True),
        ("#define S '\"' // \"\n", True),
        ("#pragma once\nint x;\n", False),
        ("// one\r#define A \\\r\nint x;\r", True),
        ("// one\rint x() { return 0; }\r", False),
        ("// next \\\nint x;\n#include <map>\nf()", False),
        ('#define A "/*"\nint x = f();\n#define B "*/"\n', False),
        ("#if 0\nwords\n#endif\n", False),
        ("import std;\n", False),
    ],
)
def test_a_file_is_hollow_that_holds_directives_and_comments_only(text: str, hollow: bool) -> None:
    assert is_hollow(text.encode()) == hollow


def _is_slowly_hollow(text: str) -> bool:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\\\n", "")
    form = re.compile(r"""("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*""", re.S)
    plain = form.sub(lambda match: match[1] or " ", lines)
    return all(re.match(r"[ \t]*#", line) or not line.encode().strip() for line in plain.split("\n"))


_TOKENS = st.sampled_from([*'\n\r\\"/*# \t\f;', "//", "/*", "*/", "#include", "#define A", "// words\n", "/* words */"])


@given(st.lists(_TOKENS, max_size=20).map("".join))
def test_comments_and_lines_decide_what_is_hollow(text: str) -> None:
    assert is_hollow(text.encode()) == _is_slowly_hollow(text)


@pytest.mark.parametrize(
    "line",
    [
        "#ifdef A\n#include <map>\n#endif",
        "#ifndef _WIN32\n#else\n#include <map>\n#endif",
        "#if 0\n#ifndef A\n#include <map>\n#endif\n#endif",
        "// #include <map>",
        "/*\n#include <map>\n*/",
        "#include MACRO",
        '#include "no_guard.h"',
        '#include "/etc/passwd"',
        "#include <../../etc/passwd>",
        '#include "back\\slash.h"',
    ],
)
def test_what_may_mean_nothing_or_something_else_each_time_is_not_shared(line: str) -> None:
    texts = {f"{name}.cpp": f"{line}\n" for name in "abcd"}
    assert shared({**texts, "no_guard.h": "int twice;\n"}) == []


def test_an_include_behind_a_switch_that_is_off_by_default_is_shared() -> None:
    texts = {f"{name}.cpp": "#ifndef AS_MODULE\n#include <map>\n#endif\n" for name in "abcd"}
    (header,) = shared(texts)
    assert included(header) == ["<map>"]


def test_a_header_is_found_beside_its_includer_or_where_the_arguments_say() -> None:
    texts = {
        "src/lib.h": "#pragma once\n",
        "src/deep/up.h": "#pragma once\n",
        **{f"src/deep/{name}.cpp": '#include "../lib.h"\n#include "up.h"\n#include <up.h>\n' for name in "abcd"},
    }
    (header,) = shared(texts)
    assert included(header) == ["<up.h>", '"../../src/deep/up.h"', '"../../src/lib.h"']


def test_a_header_of_the_tree_that_few_of_many_units_include_is_not_shared() -> None:
    own = {"rare.h": "#pragma once\n#include <map>\n", "common.h": "#pragma once\n#include <set>\n"}
    common = {f"use{index:03}.cpp": '#include "common.h"\n' for index in range(58)}
    rare = {f"odd{index}.cpp": '#include "rare.h"\n' for index in range(2)}
    (header,) = shared({**own, **common, **rare})
    assert included(header) == ["<map>", "<set>", '"../../common.h"']


def test_few_units_or_units_with_forced_includes_share_nothing() -> None:
    texts = {f"{name}.cpp": "#include <map>\n" for name in "abcd"}
    assert len(shared(texts)) == 1
    assert shared(dict(list(texts.items())[:3])) == []
    assert shared(texts, ("-x", "c++", "-include", "first.h")) == []


@given(st.dictionaries(st.sampled_from([f"{n}.{e}" for n in "abcdef" for e in ("cpp", "h")]), st.binary(max_size=80)))
def test_any_bytes_give_one_plan_whatever_the_order(texts: dict[str, bytes]) -> None:
    units = [Unit(path, ("-x", "c++"), "inferred", path.endswith(".h")) for path in texts]
    plan = shared_headers(units, texts.__getitem__)
    assert shared_headers(units[::-1], texts.__getitem__) == plan
    for header in plan:
        assert {line.partition(" ")[0] for line in header.text.splitlines()} <= {"#if", "#include", "#endif"}


def test_with_and_without_a_shared_header_calls_includes_and_errors_are_equal(tmp_path: Path) -> None:
    with_header, report = parse(tmp_path / "with", TREE, precompile=True)
    without, nothing = parse(tmp_path / "without", TREE, precompile=False)
    assert (tmp_path / "with/.megacpp/pch/0.pch").is_file()
    assert nothing == HeaderReport()
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
        reports: list[HeaderReport] = []
        options = replace(DEFAULT_OPTIONS, batch_files=batch_files)
        found = parse_tree(tree, files, toolchain(), pool, options=options, report=reports.append)
        pool.close()
        assert reports[0].headers == reports[0].units_audited == 1 and (tree / ".megacpp/pch/0.pch").is_file()
        outcomes.append(([(file.path, list(file.symbols), file.includes, calls(file)) for file in found], reports))
    assert outcomes[0] == outcomes[1]


def test_a_header_that_changes_a_units_calls_is_dropped(tmp_path: Path) -> None:
    unit = '#define FEW\n#include "pick.h"\nlong use() { return pick(1); }\n'
    tree = {
        "pick.h": "#pragma once\n#ifndef FEW\nint pick(int);\n#endif\nlong pick(long);\n",
        **{f"use{index}.cpp": unit for index in range(4)},
    }
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.headers, report.dropped) == (1, 1)
    assert report.calls_differing > 0
    assert [calls(file) for file in found.values()] == [calls(file) for file in without.values()]


SPOILED = {
    "has errors anyway": '#define FEW\n#include "pick.h"\nlong use() { return pick(unknown); }\n',
    "has errors with the header": '#ifdef PICK\n#error\n#endif\n#include "pick.h"\nlong use() { return pick(1); }\n',
    "has no call": '#include "pick.h"\nlong use;\n',
}


@pytest.mark.parametrize("first", SPOILED.values(), ids=SPOILED)
def test_a_sample_that_measures_nothing_goes_on_to_units_that_do(tmp_path: Path, first: str) -> None:
    units = by_hash(f"use{index}.cpp" for index in range(4))
    rest = '#define FEW\n#include "pick.h"\nlong use() { return pick(1); }\n'
    tree = {
        "pick.h": "#pragma once\n#define PICK\n#ifndef FEW\nint pick(int);\n#endif\nlong pick(long);\n",
        **dict.fromkeys(units, rest),
        units[0]: first,
    }
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.dropped, report.units_audited, report.calls_compared) == (1, 2, 1)
    assert [calls(found[path]) for path in units] == [calls(without[path]) for path in units]
    assert states(found) == states(without)


def test_a_header_that_nothing_speaks_for_is_dropped_and_no_unit_rests_on_it(tmp_path: Path) -> None:
    mute = {f"mute{index}.cpp": '#include "lib.h"\nint mute;\n' for index in range(4)}
    lacking = '#include "none.h"\nint lacking() { return twice(1); }\n'
    tree = {**TREE, **mute, "lacking.cpp": lacking}
    tree = {path: text for path, text in tree.items() if not path.startswith("src/")}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.headers, report.dropped, report.units_audited, report.calls_compared) == (1, 1, 5, 0)
    assert states(found) == states(without)


def by_hash(paths: Iterable[str]) -> list[str]:
    """`paths` in the order in which samples take them."""
    return sorted(paths, key=lambda path: hashlib.sha256(path.encode()).digest())


def test_another_choice_between_equal_candidates_is_no_difference(tmp_path: Path) -> None:
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
        for index in range(12)
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
    users = {f"use{index}.h": user for index in range(12)}
    copy = LIB.replace('#include "part.h"\n', '#include "lib.h"\n#include "part.h"\n')
    outer = '#pragma once\n#include "lib.h"\n#include "part.h"\n'
    tree = {**TREE, **users, "old/copy.h": copy, "use0.h": outer}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert '"../../include/lib.h"' in (tmp_path / "with/.megacpp/pch/1.h").read_text()
    assert calls(without["old/copy.h"]) and report.dropped == 0
    assert [calls(found[path]) for path in tree] == [calls(without[path]) for path in tree]
    assert states(found) == states(without)


def test_a_hollow_file_does_not_look_into_the_functions_of_what_it_includes(tmp_path: Path) -> None:
    body = "int twice(int v) { return v * unknown; }\n"
    tree = {"all.cpp": '#include "part.cpp"\n', "some.cpp": '#include "part.cpp"\nint x;\n', "part.cpp": body}
    found, _ = parse(tmp_path, tree, precompile=False)
    assert {path: file.errors for path, file in found.items()} == {"all.cpp": 0, "some.cpp": 1, "part.cpp": 1}
    assert found["all.cpp"].includes == ("part.cpp",)


BROKEN = ["#pragma once\n#error no\n", '#pragma once\n#include "/etc/passwd"\n', '#pragma once\n#include "none.h"\n']


@pytest.mark.parametrize("text", BROKEN)
def test_where_a_header_of_the_tree_is_broken_only_those_from_outside_are_shared(tmp_path: Path, text: str) -> None:
    tree = {**TREE, "include/part.h": text}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.headers, report.unbuilt, report.units_audited, report.dropped) == (1, 0, 5, 1)
    assert "lib.h" not in (tmp_path / "with/.megacpp/pch/0.h").read_text()
    assert states(found) == states(without)


def test_a_header_that_cannot_be_built_leaves_its_units_to_a_plain_parse(tmp_path: Path) -> None:
    # The compiler has this one, but it only passes on to that of another system.
    tree = {f"use{index}.cpp": f"#include <intrin.h>\nint use{index}();\n" for index in range(4)}
    found, report = parse(tmp_path / "with", tree, precompile=True)
    without, _ = parse(tmp_path / "without", tree, precompile=False)
    assert (report.headers, report.unbuilt, report.units_audited) == (1, 1, 0)
    assert states(found) == states(without)


def states(found: Mapping[str, ParsedFile]) -> dict[str, tuple[str, str, int]]:
    return {path: (file.status, file.reason, file.errors) for path, file in found.items()}


def test_errors_that_only_the_header_makes_are_parsed_away(tmp_path: Path) -> None:
    odd = '#ifdef LIB_H\n#error first\n#endif\n#include "lib.h"\nint odd() { return twice(1); }\n'
    found, report = parse(tmp_path, {**TREE, "src/odd.cpp": odd}, precompile=True)
    assert report.dropped == 0
    assert found["src/odd.cpp"].status == "clean"
    assert calls(found["src/odd.cpp"])


def test_a_tree_with_a_folder_of_our_name_shares_nothing(tmp_path: Path) -> None:
    found, report = parse(tmp_path, {**TREE, ".megacpp/own.txt": "the tree's own"}, precompile=True)
    assert report == HeaderReport()
    assert {file.status for file in found.values()} == {"clean"}
