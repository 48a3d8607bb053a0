"""A document shows the bodies of the functions that a compiler evaluates: what constants and assertions call."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.documents import HoldoutRecipe, SemanticRecipe
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.judge import Judge
from megacpp_assets.semantic.documents.roots.held_out import draw, hold_out
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.documents.assembling import documents_of
from tests.semantic.sources import index

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
constexpr int lowest() { return 1; }
constexpr int least() { return lowest(); }
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
LOWEST = "constexpr int lowest() {"
ALL = (CONSTRUCTOR, CONVERSION, EQUAL, INDEXED, OK, LEAST, LOWEST)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("return calendar::may.length(4);", {CONSTRUCTOR}),
        ('static_assert(calendar::month{7}.ok(), ""); return 1;', {CONSTRUCTOR, OK, LEAST, LOWEST}),
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
        "// The {first} one.\n"
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


def test_a_function_with_a_deduced_type_brings_no_bodies_of_what_it_calls(tmp_path: Path) -> None:
    sources = {
        "twice.h": "#pragma once\ninline int hidden() { return 1000003; }\nauto twice(int n) { return hidden(); }\n",
        "a.cc": '#include "twice.h"\nint use_of_twice() { return twice(7) + 1; }\n',
    }
    found = documents_of(tmp_path, sources, body_depth=0)
    text = next(each.text for each in found.values() if "int use_of_twice() {" in each.text)
    assert "auto twice(int n) { return hidden(); }" in text
    assert "inline int hidden() {" not in text


def test_at_most_64_functions_are_shown_for_one_assertion(tmp_path: Path) -> None:
    chain = "".join(f"constexpr int step_{n}() {{ return step_{n - 1}() + {n}; }}\n" for n in range(1, 100))
    sources = {
        "steps.h": f"#pragma once\nconstexpr int step_0() {{ return 1000003; }}\n{chain}",
        "a.cc": '#include "steps.h"\nint use_of_steps() { static_assert(step_99() > 7); return 1; }\n',
    }
    found = documents_of(tmp_path, sources, body_depth=0)
    text = next(each.text for each in found.values() if "int use_of_steps() {" in each.text)
    assert sum(f"constexpr int step_{n}() {{" in text for n in range(100)) == 64


def test_a_document_that_trains_has_no_body_of_a_file_that_is_held_out(tmp_path: Path) -> None:
    use = "static_assert(calendar::month{7}.ok()); return calendar::may.length(4);"
    sources = {"month.h": MONTH, "a.cc": f'#include "month.h"\nint use(int year) {{ int here = year + 7; {use} }}\n'}
    repository, chars = index(tmp_path, sources)
    salt = next(
        salt for salt in map(str, range(99)) if draw("library", "month.h", salt) < draw("library", "a.cc", salt)
    )
    judge = Judge(repository, hold_out(repository, "library", HoldoutRecipe(share=1e-9, salt=salt)))
    found = documents(repository, chars, SemanticRecipe(replication=0), DOCUMENT_TOKENS, judge)
    text = next(
        each.text for each in found if isinstance(each, Document) and not each.validates and "int use(" in each.text
    )
    assert "class month" in text
    assert not any(each in text for each in ALL)
