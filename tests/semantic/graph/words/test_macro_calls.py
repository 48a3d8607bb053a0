"""Functions that definitions of macros call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.semantic.sources import index

BODY = "  n += n * n;\n" * 40
"""Long enough that a member is a chunk of its own."""


def _called(tree: Path, text: str, macro: str) -> set[str]:
    """The names of what the definition of `macro` names, in a file with that text."""
    repository, _ = index(tree, {"a.cc": text})
    names = [node.chunk.name for node in repository.nodes]
    return {names[used] for used in repository.spelled[names.index(macro)]}


def test_a_macro_does_not_call_the_members_that_it_makes(tmp_path: Path) -> None:
    text = """\
#define CASE(name) struct name##_case { void body(); }; void name##_case::body()
CASE(first) { static int added = 1000003; added++; }
#define RUN(object) (body())
"""
    assert "first_case::body" not in _called(tmp_path, text, "RUN")


@pytest.mark.parametrize(
    ("definition", "called"),
    [
        ("check(value)", "check"),
        ("deep::check(value)", "deep::check"),
        ("Other::check(value)", "Other::check"),
        ("unknown::check(value)", "check"),
        ("Made<value>::check(value)", "Made::check"),
        ("Strange<value>::check(value)", None),
        ("NAME(value)::check(value)", None),
        ("value::check(value)", None),
    ],
)
def test_what_stands_in_front_of_a_call_decides_which_function_is_meant(
    definition: str, called: str | None, tmp_path: Path
) -> None:
    text = f"""\
struct Other {{ static int check(int); }};
int Other::check(int n) {{ return n + 1000003; }}
template <int> struct Made {{ static int check(int n) {{\n{BODY}  return n + 1000033;\n}} }};
int check(int n) {{ return n + 1000037; }}
namespace deep {{ int check(int n) {{ return n + 1000039; }} }}
#define USE(value) {definition}
"""
    found = {name for name in _called(tmp_path, text, "USE") if name.endswith("check")}
    assert found == ({called} if called else set())
