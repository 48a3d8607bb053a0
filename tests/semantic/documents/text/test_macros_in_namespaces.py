"""Definitions of macros are in no namespace: none is opened for them, and none that is open is closed."""

from __future__ import annotations

from pathlib import Path

from tests.semantic.documents.assembling import all_of, documents_of

OPENED = "#define OPEN_LIB namespace lib { inline namespace v1 {\n#define CLOSE_LIB } }\n"


def test_no_namespace_is_opened_for_a_macro_and_the_macros_that_open_it_are_not_needed(tmp_path: Path) -> None:
    sources = {
        "lib.h": f"#pragma once\n{OPENED}OPEN_LIB\nnamespace detail {{\n#define TWICE(x) ((x) * 2)\n"
        "int one();\n}\nCLOSE_LIB\n",
        "a.cc": '#include "lib.h"\nint user() { static int made = 1000003; return TWICE(made) + 1000003; }\n',
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert "#define TWICE(x)" in text
    assert "OPEN_LIB" not in text and "namespace" not in text


def test_a_macro_between_functions_of_a_namespace_leaves_it_open(tmp_path: Path) -> None:
    sources = {
        "lib.h": "#pragma once\nnamespace lib {\nint one(int v);\n#ifdef FAST\n#define TWICE(x) ((x) + (x))\n#else\n"
        "#define TWICE(x) ((x) * 2)\n#endif\ninline int two(int v) { return TWICE(one(v)); }\n}\n",
        "a.cc": '#include "lib.h"\nint user() { static int made = 1000003; return lib::two(made) + 1000003; }\n',
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.count("namespace lib {") == 1 and text.count("#if") == text.count("#endif") == 1
    assert text.index("int one(int v);") < text.index("#define TWICE") < text.index("inline int two")


def test_arms_of_one_conditional_share_it_around_macros_inside_a_namespace(tmp_path: Path) -> None:
    sources = {
        "lib.h": "#pragma once\nnamespace lib {\n#ifdef __linux__\n#define WIDTH 4\n#else\n#define WIDTH 8\n#endif\n"
        "inline int two() { static int made = 1000003; return WIDTH + made; }\n}\n",
        "a.cc": '#include "lib.h"\nint user() { static int made = 1000003; return lib::two() + WIDTH + made; }\n',
    }
    documents = documents_of(tmp_path, sources)
    for name in ("user", "lib::two"):
        text = documents[name].text
        assert text.count("#endif") == text.count("#if"), text
        assert text.index("#define WIDTH 4") < text.rindex("WIDTH")


def test_a_root_of_macros_with_an_include_is_in_no_namespace_of_others(tmp_path: Path) -> None:
    macros = "".join(f"#define LIB_LEVEL_{number} {number}\n" for number in range(40))
    sources = {
        "lib.h": "#pragma once\nnamespace lib {\ninline int one(int v) { static int n = 1000003; return v + n; }\n}\n"
        "#if defined(LIB_OLD)\n#define LIB_PLAIN 1\n#endif\n#define LIB_EARLY 1\n"
        f"#ifndef LIB_PLAIN\n#  include <regex>\n#endif\n{macros}namespace lib {{\n"
        "inline int two(int v) { static int n = 1000003; return v + n + LIB_LEVEL_4; }\n}\n",
    }
    (document,) = all_of(tmp_path, sources, strategy="file", parsed_documents=0)
    before = document.text.partition("#  include <regex>")[0]
    assert before.count("namespace lib {") == before.count("}  // namespace lib") == 1


def test_a_macro_under_the_open_condition_of_another_file_leaves_it_open(tmp_path: Path) -> None:
    sources = {
        "a.h": "#pragma once\n#ifndef LIB_SLOW\nint quick(int first, int second, int third);\n#endif\n",
        "b.h": "#pragma once\n#ifndef LIB_SLOW\n"
        "#define QUICKER(value) \\\n  (quick((value) * 1000003, (value) * 1000033, 0) "
        "+ \\\n   quick((value) + 1000003, (value) + 1000033, 1))\n#endif\n",
        "user.cc": '#include "a.h"\n#include "b.h"\n#ifndef LIB_SLOW\n'
        "int user() { return QUICKER(2) + quick(1, 2, 3) + 1000003; }\n#endif\n",
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.index("int quick(") < text.index("#define QUICKER") < text.index("int user()")
    assert text.count("#ifndef") == text.count("#endif")
