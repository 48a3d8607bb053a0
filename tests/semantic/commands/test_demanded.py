"""A source that names the macro without which it is an error gets it; where it says anything else first it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.commands.demanded import demanded_macros
from tests.semantic.parsing_trees import parse_in_process

LIB = "#ifdef LIB_COMPILED\nint used();\n#else\ninline int used() { return 1; }\n#endif\n"


@pytest.mark.parametrize(
    ("text", "macros"),
    [
        ("// license\n#ifndef LIB\n#error Please define LIB\n#endif\n#include <map>\n", ("LIB",)),
        ("#pragma once\n# if !defined(LIB)\n#  error no\n# endif // LIB\n", ("LIB",)),
        ("#if ! defined LIB\n#error no\n#endif\n#ifndef ONE\n#error\n#endif\n#ifndef TWO\n#endif\n", ("LIB", "ONE")),
        ('#include "config.h"\n#ifndef LIB\n#error no\n#endif\n', ()),
        ("#ifdef LIB\n#error no\n#endif\n", ()),
        ("#ifndef LIB\n#define LIB\n#endif\n#ifndef ONE\n#error no\n#endif\n", ()),
        ("#ifndef LIB\n#error no\n#else\n#endif\n", ()),
        ("#if !defined(LIB) && !defined(ONE)\n#error no\n#endif\n", ()),
        ("#if !LIB\n#error no\n#endif\n", ()),
        ("#ifndef _WIN32\n#error no\n#endif\n", ()),
        ("#ifndef LIB\n#error no\n", ()),
        ("/* #ifndef LIB\n#error no\n#endif */\n", ()),
        ("int x;\n", ()),
    ],
)
def test_only_what_a_text_demands_before_all_else_is_demanded(text: str, macros: tuple[str, ...]) -> None:
    assert demanded_macros(text.encode()) == macros


def test_demanded_macros_apply_to_sources_and_not_to_headers(tmp_path: Path) -> None:
    source = (
        '#ifndef LIB_COMPILED\n#error Please define LIB_COMPILED\n#endif\n#include "lib.h"\nint used() { return 2; }\n'
    )
    demanding = "#ifndef LIB_H\n#error Include lib.h instead\n#endif\nint detail();\n"
    found = parse_in_process(
        tmp_path, {"lib.h": LIB, "lib.cc": source, "use.cc": '#include "lib.h"\n', "d.h": demanding}
    )
    assert {path: file.errors for path, file in found.items()} == {"lib.h": 0, "lib.cc": 0, "use.cc": 0, "d.h": 1}
