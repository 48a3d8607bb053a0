"""What a document lacks: names that its repository defines and that the parser does not find in it, and no others."""

from __future__ import annotations

import alone
import pytest
from _libclang import load_library

from megacpp_assets.semantic.commands.toolchain import Toolchain, find_toolchain

DEFINED = frozenset({"Widget", "grow", "LIMIT", "vector", "Base", "part"})


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    found = find_toolchain()
    load_library(found)
    return found


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("struct Widget {}; int grow(Widget w); int f(Widget w) { return grow(w); }", []),
        ("int f(Widget w) { return grow(w); }", ["Widget"]),
        ("int f() { return LIMIT; }", ["LIMIT"]),
        ("struct S : Base { int f() { return grow(1); } };", ["Base", "grow"]),
        ("namespace n { struct S; } int f() { return n::part(1); }", ["part"]),
        ("std::vector<int> v; int f() { return v.front(); }", []),
        ("int f(Stranger s) { return elsewhere(s); }", []),
        ('#include "gone.h"\nint f() { return grow(1); }', ["grow"]),
    ],
)
def test_a_document_lacks_what_the_repository_defines_and_it_does_not(
    text: str, lacking: list[str], toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alone, "SYSTEM", "vector")  # read faster than the whole library
    found = alone.lacks(text, alone.arguments_of(toolchain, ()))
    assert sorted(DEFINED.intersection(found)) == lacking


def test_headers_of_a_dependency_are_known_by_the_folder_that_they_lie_below() -> None:
    assert alone.is_below("test/gtest/gtest.h", ["test/gtest/"])
    assert not alone.is_below("test/gtest-extra.h", ["test/gtest"])
