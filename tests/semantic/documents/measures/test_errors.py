"""What the parser says of a text: the kinds of its errors, and the names that it does not find."""

from __future__ import annotations

import pytest
from clang import cindex

from megacpp_assets.semantic.documents.measures.drawn import Drawn
from megacpp_assets.semantic.documents.measures.errors import (
    ERROR_KINDS,
    Error,
    errors_of,
    kinds_of,
    missing_headers,
    missing_names,
)
from tests.semantic.parsing_trees import toolchain


def _errors(document: Drawn) -> list[Error]:
    found = toolchain()
    if not cindex.Config.loaded:
        cindex.Config.set_library_file(found.library)
    return errors_of(document, ["-resource-dir", found.resource_dir])


def _kinds(document: Drawn) -> list[str]:
    return kinds_of(_errors(document))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("undeclared_name", "int f() { return grow(1); }\n"),
        ("unknown_type", "int f(Stranger &given);\n"),
        ("incomplete_class", "class Widget;\nint Widget::grow() { return 1; }\n"),
        ("redefinition", "int f() { return 1; }\nint f() { return 2; }\n"),
        ("syntax", "int f( { return 1; }\n"),
    ],
)
def test_an_error_has_a_kind(kind: str, text: str) -> None:
    assert kind in ERROR_KINDS
    assert kind in _kinds(Drawn(text, "c++", "c++17"))


def test_a_missing_header_is_no_error_and_the_parse_goes_on() -> None:
    errors = _errors(Drawn('#include "own/gone.h"\nint f() { return grow(1); }\n'))
    assert missing_headers(errors) == ["own/gone.h"]
    assert kinds_of(errors) == ["undeclared_name"]


def test_a_text_is_parsed_in_its_own_language_and_standard() -> None:
    text = "int f(void) { int class = 1; return class; }\n"
    assert _kinds(Drawn(text, "c++", "c11")) == _kinds(Drawn(text, "c")) == []
    assert _kinds(Drawn(text, "c++", "c++17")) and _kinds(Drawn(text, "c++"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("struct Widget {}; int grow(Widget w); int f(Widget w) { return grow(w); }", []),
        ("int f(Widget w) { return grow(w); }", ["Widget"]),
        ("int f() { return LIMIT; }", ["LIMIT"]),
        ("struct S : Base { int f() { return grow(1); } };", ["Base", "grow"]),
        ("namespace n {} struct S : n::Base<int> {};", ["Base"]),
        ("namespace n { struct S; } int f() { return n::part(1); }", ["part"]),
        ("struct S {}; int f(S s) { return s.width; }", ["width"]),
        ("int f() { elsewhere(1); return Stranger(); }", ["Stranger", "elsewhere"]),
    ],
)
def test_names_that_the_parser_does_not_find_are_missing(text: str, names: list[str]) -> None:
    assert missing_names(_errors(Drawn(text, "c++", "c++17")), text) == names


def test_a_function_that_c_does_not_know_is_missing() -> None:
    text = "int f(void) { return grow(1); }\n"
    assert missing_names(_errors(Drawn(text, "c", "c11")), text) == ["grow"]


def test_a_name_of_the_standard_library_is_not_missing() -> None:
    text = "namespace std {}\nint f() { std::vector<int> v; return std::size(v); }\n"
    errors = _errors(Drawn(text))
    assert kinds_of(errors)
    assert "vector" not in missing_names(errors, text) and "size" not in missing_names(errors, text)
