"""Specialisations of class templates in documents."""

from __future__ import annotations

from pathlib import Path

from tests.semantic.documents.assembling import documents_of

TRAITS = """\
#pragma once
template <typename T> struct is_text { static constexpr bool value = false; };
template <> struct is_text<char> { static constexpr bool value = true; };
template <typename T> struct is_text<T *> { static constexpr bool value = is_text<T>::value; };
template <typename T> struct is_text<T[99]> {
  static constexpr bool value = false;
%s};
template <typename T> struct lone { static constexpr bool value = false; };
"""
LONG = "".join(f"  static constexpr int never_used_{number} = {number};\n" for number in range(30))
USER = (
    '#include "traits.h"\n'
    "template <typename T> int user(T) { int n = 1000003; n++; return is_text<T>::value ? n : 0; }\n"
)


def test_the_short_specialisations_of_a_template_come_with_it_before_its_users(tmp_path: Path) -> None:
    text = documents_of(tmp_path, {"traits.h": TRAITS % LONG, "user.h": "#pragma once\n" + USER})["user"].text
    places = [
        text.index(each)
        for each in ("struct is_text {", "struct is_text<char> {", "struct is_text<T *> {", "int user(")
    ]
    assert places == sorted(places)
    assert "never_used" not in text and "lone" not in text
