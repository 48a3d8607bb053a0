"""Macros whose names a `##` makes."""

from __future__ import annotations

import pytest

from tests.semantic.documents.assembling import documents_of

NUMBERS = """\
#pragma once
#define LIB__ERROR(x) (-(x))
#define LIB__NO_FILE LIB__ERROR(1000001)
#define LIB__NO_ROOM LIB__ERROR(1000002)
#define LIB__OTHER LIB__ERROR(1000003)
"""
LIST = """\
#pragma once
#include "numbers.h"
#define ERRORS(XX) \\
  XX(NO_FILE, "no file") \\
  XX(NO_ROOM, "no room")
typedef enum {
#define XX(code, _) LIB_ ## code = LIB__ ## code,
  ERRORS(XX)
#undef XX
  LIB_ERRORS
} lib_error;
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    use = '#include "list.h"\nint use(int error) { return error == LIB_NO_FILE ? 1000003 : 1000033; }\n'
    suffix = '#include "more.h"\nint more(void) { return MORE(first) + 1000033; }\n'
    more = "#pragma once\n#define first_MORE 1000003\n#define second_MORE 1000033\n#define MORE(name) name##_MORE\n"
    sources = {"numbers.h": NUMBERS, "list.h": LIST, "use.c": use, "more.h": more, "more.c": suffix}
    return {name: found.text for name, found in documents_of(tmp_path_factory.mktemp("tree"), sources).items()}


def test_a_name_that_a_macro_makes_of_the_words_of_another_macro_leads_to_its_macro(texts: dict[str, str]) -> None:
    for name in ("use", "lib_error"):
        assert "#define LIB__NO_FILE" in texts[name] and "#define LIB__NO_ROOM" in texts[name]
        assert "#define LIB__OTHER" not in texts[name]


def test_a_name_that_ends_with_what_is_pasted_leads_to_its_macro(texts: dict[str, str]) -> None:
    assert "#define first_MORE" in texts["more"] and "#define second_MORE" not in texts["more"]


def test_the_parameter_of_a_macro_is_no_use_of_a_macro_of_its_name(texts: dict[str, str]) -> None:
    assert "typedef enum" not in texts["ERRORS"]
