"""A body that no range holds is lost, whatever stands before it; the braces of namespaces are no bodies."""

from __future__ import annotations

import pytest

from megacpp_assets.semantic.documents.lost import lost_bodies


@pytest.mark.parametrize(
    ("text", "placed", "lost"),
    [
        ("int f() { return 1; }", "", "{ return 1; }"),
        ("int f() { return 1; }", "int f()", "{ return 1; }"),
        ("int f() { return 1; }", "int f() { return 1; }", ""),
        ("MATCHER(a, \"\") { return arg; }", 'MATCHER(a, "")', "{ return arg; }"),
        ("namespace a { int f() { return 1; } }", "int f() { return 1; }", ""),
        ("namespace a { namespace { } }", "", ""),
        ("namespace a { // { word }\n#define X { word }\n}", "", ""),
        ("void g() { if (a) { b; } }", "void g() { if (a)", "{ b; }"),
    ],
)  # fmt: skip
def test_a_body_outside_every_range_is_lost(text: str, placed: str, lost: str) -> None:
    start = text.find(placed)
    ranges = [(start, start + len(placed))] if placed else []
    found = [text[begin:end] for begin, end in lost_bodies(text.encode(), ranges)]
    assert found == ([lost] if lost else [])
