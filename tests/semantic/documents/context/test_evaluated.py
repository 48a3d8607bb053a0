"""A document shows the bodies of the functions that a compiler evaluates: what constants and assertions call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.semantic.documents.assembling import documents_of

MONTH = """\
#pragma once
#define CONSTANT constexpr const
namespace calendar {
class month {
  unsigned char number_;
 public:
  explicit constexpr month(unsigned number) noexcept;
  constexpr operator unsigned() const noexcept;
  constexpr month operator[](int years) const noexcept;
  constexpr bool ok() const noexcept;
  int length(int year) const;
};
constexpr month::month(unsigned number) noexcept : number_(static_cast<unsigned char>(number)) {}
constexpr month::operator unsigned() const noexcept { return number_; }
constexpr month month::operator[](int) const noexcept { return *this; }
constexpr int least() { return 1; }
constexpr bool month::ok() const noexcept { return least() <= number_ && number_ <= 12; }
constexpr bool operator==(month a, month b) noexcept { return unsigned(a) == unsigned(b); }
inline int month::length(int year) const { return year % 4 + number_ * 1000003; }
CONSTANT month may{5};
}
"""
CONSTRUCTOR = "constexpr month::month(unsigned number) noexcept :"
CONVERSION = "constexpr month::operator unsigned() const noexcept {"
EQUAL = "constexpr bool operator==(month a, month b) noexcept {"
INDEXED = "constexpr month month::operator[](int) const noexcept {"
OK = "constexpr bool month::ok() const noexcept {"
LEAST = "constexpr int least() {"
ALL = (CONSTRUCTOR, CONVERSION, EQUAL, INDEXED, OK, LEAST)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("return calendar::may.length(4);", {CONSTRUCTOR}),
        ('static_assert(calendar::month{7}.ok(), ""); return 1;', {CONSTRUCTOR, OK, LEAST}),
        ('static_assert(calendar::month{7} == calendar::month{8}, ""); return 1;', {CONSTRUCTOR, EQUAL, CONVERSION}),
        ("constexpr auto june = calendar::month{6}[3]; return june.length(4);", {CONSTRUCTOR, INDEXED}),
        ("CONSTANT unsigned five = calendar::month{5}; return five;", {CONSTRUCTOR, CONVERSION}),
        ("return calendar::month{7}.ok(); // no constexpr, no static_assert(x);", set()),
    ],
)
def test_a_document_has_the_bodies_that_its_constants_and_assertions_call(
    tmp_path: Path, body: str, shown: set[str]
) -> None:
    sources = {"month.h": MONTH, "a.cc": f'#include "month.h"\nint use(int year) {{ int here = year + 7; {body} }}\n'}
    text = next(each.text for each in documents_of(tmp_path, sources, body_depth=0).values() if "int use(" in each.text)
    assert {each for each in ALL if each in text} == shown


def test_the_body_of_a_function_for_constants_is_not_shown_where_it_is_called_at_run_time(tmp_path: Path) -> None:
    head = "constexpr bool is_good(calendar::month m) { bool good = m.ok(); return good && year_of(m) == 1000003; }"
    early = "constexpr int year_of(calendar::month) { return 1000003; }"
    sources = {"month.h": MONTH, "a.cc": f'#include "month.h"\n{early}\n{head}\n'}
    found = documents_of(tmp_path, sources, body_depth=0)
    text = next(each.text for each in found.values() if "constexpr bool is_good(calendar::month m) {" in each.text)
    assert OK not in text
    assert early not in text


def test_the_body_of_a_long_function_is_not_shown_for_an_assertion(tmp_path: Path) -> None:
    long = MONTH.replace("{ return least()", "{ " + "int n = 1000003; " * 80 + "return least()")
    sources = {
        "month.h": long,
        "a.cc": '#include "month.h"\nint use() { static_assert(calendar::may.ok()); return 1; }',
    }
    text = next(each.text for each in documents_of(tmp_path, sources, body_depth=0).values() if "int use(" in each.text)
    assert CONSTRUCTOR in text
    assert OK not in text


def test_a_method_with_a_deduced_type_is_shown_with_its_body(tmp_path: Path) -> None:
    members = "".join(f"  int unused_{number}() const;\n" for number in range(60))
    graph = f"#pragma once\nclass Graph {{\n  int nodes[7];\n public:\n  auto begin();\n  auto last();\n{members}}};\n"
    methods = (
        "// The first one.\n"
        "inline auto Graph::begin() { return nodes; }\n"
        "inline auto Graph::last() { return nodes + 6; }\n"
    )
    sources = {
        "graph.h": graph + methods,
        "a.cc": '#include "graph.h"\nint first(Graph &graph) { return *graph.begin(); }\n',
    }
    found = documents_of(tmp_path, sources, body_depth=0)
    text = next(each.text for each in found.values() if "int first(Graph &graph) {" in each.text)
    assert text.index("inline auto Graph::begin() { return nodes; }") < text.index("int first(Graph &graph) {")
    assert "Graph::last()" not in text
