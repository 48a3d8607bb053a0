"""Units and headers that a header would change by its macros, or that would change it, are known from directives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from itertools import permutations

import pytest

from megacpp_assets.semantic.commands.modules import is_of_module
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.precompiled import SharedHeader, shared_headers

BASE = "#pragma once\n#ifdef CHECK\n#endif\n#include <string>\n"
CHECK = "#pragma once\n#define CHECK(x)\n"


def shared(texts: Mapping[str, str]) -> list[SharedHeader]:
    units = [Unit(path, ("-x", "c++"), "inferred", path.endswith(".h")) for path in texts]
    return [header for header in shared_headers(units, lambda path: texts[path].encode()) if '.h"' in header.text]


def own(header: SharedHeader) -> list[str]:
    return [line.split("/")[-1].rstrip('"') for line in header.text.splitlines() if '.h"' in line]


def paths(header: SharedHeader) -> set[str]:
    return {unit.path for unit in header.units}


def users(name: str, count: int, *headers: str) -> dict[str, str]:
    text = "".join(f'#include "{header}"\n' for header in headers)
    return {f"{name}{number}.cc": text for number in range(count)}


def test_a_header_that_sets_a_tested_macro_is_not_shared() -> None:
    tree = {"base.h": BASE, "check.h": CHECK, **users("base", 9, "base.h"), **users("check", 4, "check.h", "base.h")}
    (header,) = shared(tree)
    assert own(header) == ["base.h"]
    assert len(header.units) == 13


def test_enough_units_that_include_a_macro_setter_share_it_separately() -> None:
    tree = {
        "base.h": BASE,
        "check.h": f'{CHECK}#include "base.h"\n',
        "more.h": '#pragma once\n#include "base.h"\n',
        **users("base", 9, "more.h", "base.h"),
        **users("check", 8, "check.h", "more.h"),
    }
    apart, rest = shared(tree)
    assert (own(apart), own(rest)) == (["check.h"], ["base.h", "more.h"])
    assert (paths(apart), paths(rest)) == ({f"check{n}.cc" for n in range(8)}, {f"base{n}.cc" for n in range(9)})


def test_the_disagreeing_header_of_most_units_is_shared_separately() -> None:
    tree = {"base.h": BASE, **users("base", 9, "base.h")}
    for count in range(8, 13):
        tree |= {f"check{count}.h": CHECK, **users(f"check{count}_", count, f"check{count}.h", "base.h")}
    apart, rest = shared(tree)
    assert (own(apart), own(rest)) == (["check12.h"], ["base.h"])
    assert paths(apart) == {f"check12_{number}.cc" for number in range(12)}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in (1, 2, 3))])
def test_separate_groups_do_not_depend_on_the_hash_seed(seed: int) -> None:
    test = f"{__file__}::{test_the_disagreeing_header_of_most_units_is_shared_separately.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", test]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_default_definitions_and_mutual_includes_do_not_disagree() -> None:
    default = "#pragma once\n#include <map>\n#ifndef CHECK\n#define CHECK 1\n#endif\n"
    tree = {"base.h": BASE, "one.h": default, "two.h": default, "set.h": CHECK.replace("CHECK", "OWN")}
    tree["asks.h"] = '#pragma once\n#include "set.h"\n#if OWN(1)\n#endif\n'
    headers = ["base.h", "one.h", "two.h", "set.h", "asks.h"]
    (header,) = shared({**tree, **users("use", 5, *headers)})
    assert own(header) == sorted(headers)


EARLY = {
    "it asks for the guard": '#ifdef BASE_H\n#error\n#endif\n#include "base.h"\n',
    "it asks for a macro": '#if !VALUE\n#define MORE\n#endif\n#include "base.h"\n',
    "it sets what the header asks for": '#define FEW\n#include "base.h"\n',
    "it unsets what the header asks for": '#include <map>\n#undef FEW\n#include "base.h"\n',
    "it sets where nobody had": '#ifndef FEW\n#define FEW 1\n#endif\n#include "base.h"\n',
    "it does not include the header": "#define FEW\n",
}
LATE = {
    "after the header": '#include "base.h"\n#ifdef BASE_H\n#define FEW\n#endif\n#if VALUE\n#endif\n',
    "after one that has the header": '#include "above.h"\n#if VALUE\n#endif\n#define FEW\n',
    "what is the compiler's": '#ifdef _WIN32\n#endif\n#include "base.h"\n',
    "what the header has by itself": '#define VALUE 2\n#define other FEW\n#ifdef ANY\n#endif\n#include "base.h"\n',
    "in a unit that imports a module": '#define FEW\nimport base;\n#include "base.h"\n',
}


@pytest.mark.parametrize("unit", [*EARLY, *LATE])
def test_a_unit_that_tests_or_sets_a_macro_before_the_include_does_not_share(unit: str) -> None:
    asks, sets = "#ifdef FEW\n#endif\n#ifdef _WIN32\n#endif\n", "#define VALUE 1\n#undef _WIN32\n"
    tree = {
        "base.h": f"#ifndef BASE_H\n#define BASE_H\n{asks}{sets}#endif\n",
        "above.h": '#pragma once\n#include "base.h"\n',
        **users("use", 8, "base.h", "above.h"),
        "odd.cc": {**EARLY, **LATE}[unit],
    }
    (header,) = shared(tree)
    assert ("odd.cc" in paths(header)) == (unit in LATE)
    assert len(paths(header) - {"odd.cc"}) == 8


def test_the_shared_headers_do_not_depend_on_the_order_of_units() -> None:
    texts = {"base.h": BASE, "check.h": CHECK, "last.h": CHECK.replace("(x)", " 2")}
    plans = [
        shared(dict([*texts.items(), *users("use", 4, "base.h", *order).items()]))
        for order in permutations(["check.h", "last.h"])
    ]
    assert len(plans[0]) == 1 and plans[0] == plans[1]
    assert own(plans[0][0]) == ["base.h"]


@pytest.mark.parametrize(
    ("text", "of_module"),
    [
        ("import fmt;\n", True),
        ("module;\n#include <map>\n", True),
        ("// first\nexport module fmt;\n", True),
        ("  import <map>;\n", True),
        ("int import;\n", False),
        ("import(fmt);\n", False),
        ("module = 1;\n", False),
        ('#import "a.h"\n', False),
        ("important x;\n", False),
    ],
)
def test_a_module_line_makes_a_unit_part_of_a_module(text: str, of_module: bool) -> None:
    assert is_of_module(text.encode()) == of_module
