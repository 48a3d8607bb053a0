from __future__ import annotations

from itertools import pairwise

import pytest

from tests.semantic.sources import one

MACROS = """\
#define BEGIN namespace fmt { inline namespace v1 {
#define END } }
#define OPEN(name) namespace name {
#define CLOSE }
#define ZED zed
#define API __attribute__((visibility("default")))
"""
CASES = [
    ("BEGIN\n{}\nEND", [("BEGIN", "END", "fmt::v1")]),
    ("OPEN(q)\n{}\nCLOSE", [("OPEN(q)", "CLOSE", "q")]),
    ("OPEN(q) // {\n{}\nCLOSE", [("OPEN(q)", "CLOSE", "q")]),
    ("BEGIN namespace o {\n{}\n} END", [("BEGIN", "END", "fmt::v1"), ("namespace o {", "}", "fmt::v1::o")]),
    ("BEGIN OPEN(o)\n{}\nCLOSE\nEND", [("BEGIN", "END", "fmt::v1"), ("OPEN(o)", "CLOSE", "fmt::v1::o")]),
    ("namespace a::b::c {\n{}\n}", [("namespace a::b::c {", "}", "a::b::c")]),
    ("namespace a { namespace b {\n{}\n} }", [("namespace a {", "}", "a"), ("namespace b {", "}", "a::b")]),
    ("namespace c /* { */ {\n{}\n}", [("namespace c /* { */ {", "}", "c")]),
    ("namespace d // {\n{\n{}\n}", [("namespace d // {\n{", "}", "d")]),
    ("namespace ZED { {} }", [("namespace ZED {", "}", "zed")]),
    ("inline namespace API e { {} }", [("inline namespace API e {", "}", "e")]),
    ("namespace [[deprecated(\"{\")]] g {\n{}\n}", [("namespace [[deprecated(\"{\")]] g {", "}", "g")]),
    ("API_NAMESPACE_LONG {}", []),
    ('extern "C" { {} }', [('extern "C" {', "}", "")]),
    ('extern "C" {}', []),
    ("namespace { {} }", [("namespace {", "}", "(anonymous)")]),
    ("namespace a" + " " * 300 + "{ {} }", [("namespace a" + " " * 300 + "{", "}", "a")]),
]  # fmt: skip
HELD = ("struct S { int x; };", "int f() { return 1; }", "enum E { kOne };")


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize(("around", "expected"), CASES)
def test_a_namespace_opens_and_closes_with_its_own_text_and_with_nothing_that_it_holds(
    around: str, expected: list[tuple[str, str, str]], held: str
) -> None:
    text = MACROS + "#define API_NAMESPACE_LONG\n" + around.replace("{}", held) + "\n"
    facts, _ = one(text)
    (spaces,) = (
        around_root
        for root, around_root in zip(facts.roots, facts.spaces, strict=True)
        if facts.chunks[root.first].start <= text.rindex(held) < facts.chunks[root.last - 1].end
    )
    assert [
        (text[space.opening.char_start : space.opening.char_end],
         space.closing, space.name)
        for space in spaces
    ] == expected  # fmt: skip
    assert all(a.opening.end <= b.opening.start for a, b in pairwise(spaces))


def test_a_macro_within_a_namespaces_head_is_no_declaration_of_its_own() -> None:
    text = MACROS + "namespace ZED { struct F {}; }\ninline namespace API v2 { struct G {}; }\n"
    facts, _ = one(text)
    roots = [text[facts.chunks[root.first].start : facts.chunks[root.last - 1].end] for root in facts.roots]
    assert roots[-2:] == ["struct F {};", "struct G {};"]
