"""The words of code, and code without its comments."""

from __future__ import annotations

import pytest

from megacpp_assets.semantic.documents.items.member_places import without_comment_lines
from megacpp_assets.semantic.documents.items.words import applies, is_operator, without_comments, words_of

MEMBER = (
    b"struct A {\n  // a\n  /* b\n c */\n  int x;  // kept\n  int y; /* d */ /* e */\n"
    b"  // goes on \\\n  here\n  int z;\n};"
)


def test_the_words_of_comments_are_no_words_of_code() -> None:
    assert words_of("int a; // one\nint b; /* two */ int c; /* three") == {"int", "a", "b", "c"}


def test_a_literal_with_the_signs_of_a_comment_is_kept() -> None:
    found = without_comments("""f("/*", '"', "//"); // end\ng""")
    assert found.split() == ['f("/*"', ",", "'\"'", ",", '"//"', ");", "g"]


def test_lines_that_hold_only_a_comment_are_left_out() -> None:
    kept = b"".join(MEMBER[first:last] for first, last in without_comment_lines(MEMBER, 0, len(MEMBER)))
    assert kept == (b"struct A {\n  int x;  // kept\n  int y; /* d */ /* e */\n  // goes on \\\n  here\n  int z;\n};")


@pytest.mark.parametrize(
    "member", [b'struct A {\n  s = R"(\n// no comment\n)";\n};', b'struct A {\n  s = "one \\\n// two \\\n";\n};']
)
def test_lines_of_a_literal_are_kept(member: bytes) -> None:
    assert without_comment_lines(member, 0, len(member)) == [(0, len(member))]


@pytest.mark.parametrize("part", ["/*", "/* ", '"/*', "'", '"', "//", "/**/", "a ", "*"])
def test_a_long_text_of_signs_is_read_once(part: str) -> None:
    text = part * 200_000
    assert len(without_comments(text)) <= 2 * len(text)
    assert without_comment_lines(f"\n{text}\n".encode(), 0, len(text) + 2)


@pytest.mark.parametrize(
    ("name", "code", "found"),
    [
        ("lib::operator==", "return a == b;", True),
        ("lib::operator==", "return a != b;", True),
        ("lib::operator==", "return a = b;", False),
        ("lib::operator<=>", "return a < b;", True),
        ("operator&", "return (a & b);", True),
        ("lib::operator()", "call(1);", False),
        ('lib::literals::operator""_km', "auto way = 3_km;", True),
        ('operator"" _km', "auto way = 3_m;", False),
    ],
)
def test_code_applies_an_operator_by_its_symbol_or_its_suffix(name: str, code: str, found: bool) -> None:
    assert is_operator(name) and applies(code, name) is found


@pytest.mark.parametrize("name", ["lib::grow", "lib::operators", "lib::Box::operator bool", "co_operator", ""])
def test_what_has_a_name_of_its_own_is_no_operator(name: str) -> None:
    assert not is_operator(name)
