"""Which precompiled headers units share is planned from their texts alone, the same whatever the order."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing import precompiled
from megacpp_assets.semantic.parsing.precompiled import MIN_UNITS, SharedHeader, shared_headers
from megacpp_assets.semantic.tree.includes import is_hollow


def shared(texts: Mapping[str, str], arguments: tuple[str, ...] = ("-x", "c++", "-Iinclude")) -> list[SharedHeader]:
    units = [Unit(path, arguments, "inferred", path.endswith(".h")) for path in texts]
    random.Random(len(texts)).shuffle(units)
    return shared_headers(units, lambda path: texts[path].encode())


def included(header: SharedHeader) -> list[str]:
    return [line.removeprefix("#include ") for line in header.text.splitlines() if line.startswith("#include")]


def test_sources_share_common_includes_and_headers_only_outside_ones() -> None:
    source, header = "#include <map>\n#include <lib.h>\n", "#pragma once\n#include <set>\n"
    texts = {
        **{f"{name}.cpp": source for name in "abcd"},
        **{f"include/{name}.h": f'{header}#include "lib.h"\n' for name in "abcd"},
    }
    sources, headers = shared({**texts, "include/lib.h": header, "d.cpp": f"{source}#include <only_mine>\n"})
    assert included(sources) == ["<map>", "<set>", '"../../include/lib.h"']
    assert [unit.path for unit in sources.units] == ["a.cpp", "b.cpp", "c.cpp", "d.cpp"]
    assert included(headers) == ["<set>"]


def test_a_header_has_at_most_the_maximum_number_of_units() -> None:
    texts = {f"src/use{index}.cc": "#include <map>\n" for index in range(1000)}
    plan = shared(texts)
    assert sorted(unit.path for header in plan for unit in header.units) == sorted(texts)
    assert all(MIN_UNITS <= len(header.units) <= 64 for header in plan)
    assert len(plan) < 1000 / (64 / 4)
    assert len(shared(dict(sorted(texts.items())[:64]))) == 1


@given(st.sets(st.integers(0, 200), min_size=1, max_size=60), st.integers(201, 400))
def test_a_new_unit_changes_only_the_header_of_its_part(present: set[int], fresh: int) -> None:
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
def test_no_unit_is_inside_its_shared_header(edges: set[tuple[int, int]]) -> None:
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
        ("\n/* never closed\nint x;\n", True),
    ],
)
def test_a_file_with_only_directives_and_comments_is_hollow(text: str, hollow: bool) -> None:
    assert is_hollow(text.encode()) == hollow


def _is_slowly_hollow(text: str) -> bool:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\\\n", "")
    form = re.compile(r"""("(?:\\.|[^"\\\n])*")|/\*(?:.*?\*/|.*)|//[^\n]*""", re.S)
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
def test_headers_without_a_guard_or_a_safe_name_are_not_shared(line: str) -> None:
    texts = {f"{name}.cpp": f"{line}\n" for name in "abcd"}
    assert shared({**texts, "no_guard.h": "int twice;\n"}) == []


def test_an_include_after_a_switch_that_is_off_by_default_is_shared() -> None:
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


def test_unclosed_comments_are_read_in_linear_time() -> None:
    text = "#include <map>\n" + "/* x\n" * 100_000
    started = time.process_time()
    assert shared(dict.fromkeys(("a.cpp", "b.cpp", "c.cpp", "d.cpp"), text)) and is_hollow(text.encode())
    assert time.process_time() - started < 60
