"""Each name of C and of POSIX is in the header that is said to promise it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest
from clang import cindex

from megacpp_assets.semantic.documents.standard_names import GLOBAL, IN_C
from tests.semantic.parsing_trees import toolchain

OTHER = {"bool", "true", "false", "byte", "nullptr_t"}
"""Names of headers of C that are words of C++, or that only `std` has."""


def _lacking(header: str, names: Sequence[str]) -> list[str]:
    """Return what a compiler of C++ says about those `names` that are no macros and that `header` does not declare."""
    uses = "".join(f"#ifndef {name}\nusing ::{name};\n#endif\n" for name in names)
    text = f"#define _GNU_SOURCE 1\n#include <{header}>\nusing namespace std;\nnamespace check {{\n{uses}}}\n"
    arguments = ["-x", "c++", "-std=c++20", "-w", "-ferror-limit=0", "-resource-dir", toolchain().resource_dir]
    unit = cindex.Index.create().parse("check.cc", arguments, [("check.cc", text)])
    return [each.spelling for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error]


@pytest.mark.parametrize("table", [IN_C, GLOBAL])
def test_each_header_has_its_names(table: Mapping[str, str]) -> None:
    named: dict[str, list[str]] = defaultdict(list)
    for name in sorted(table.keys() - OTHER):
        named[table[name]].append(name)
    assert {header: found for header, names in named.items() if (found := _lacking(header, names))} == {}
