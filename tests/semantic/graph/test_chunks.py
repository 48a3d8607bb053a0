from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.chunks import FileChunks, chunk_file
from megacpp_assets.semantic.graph.groups import METHOD_BYTES
from megacpp_assets.semantic.graph.preprocessor.conditionals import WHOLE_BYTES
from megacpp_assets.semantic.graph.spaces import Span
from megacpp_assets.semantic.outline.file_outline import outline_file
from megacpp_assets.semantic.outline.lexer import level_after, lex
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from tests.semantic.sources import one


def _roots(text: str) -> list[str]:
    """The text of each root."""
    facts, _ = one(text)
    return [facts.source.text[span.char_start : span.char_end] for span in facts.root_spans]


def test_a_function_brings_its_comment_and_a_blank_line_parts_them() -> None:
    text = "// licence\n\n// doc\n// more\nint f() { return 1; }  // tail\nint g() { return 2; }\n"
    assert _roots(text) == ["// doc\n// more\nint f() { return 1; }  // tail", "int g() { return 2; }"]


def test_small_neighbouring_declarations_are_one_root() -> None:
    text = "int a;\nint b;\n#define M 1\nvoid f();\nstruct S { int x; };\nint c;\n"
    assert _roots(text) == ["int a;\nint b;\n#define M 1\nvoid f();", "struct S { int x; };", "int c;"]


def test_a_run_holds_whole_conditionals_only() -> None:
    whole = "int a;\nvoid f();\n#if 2\nint b;\n#endif\nint c;"
    filler = "// More than a short conditional holds.\n" * (WHOLE_BYTES // 40 + 1)
    text = f"#if 1\n{whole}\n#else\nint d;\n\n{filler}\n#endif\nvoid g();\n#ifdef X\nint e;\n"
    assert _roots(text) == [whole, "int d;", "void g();", "int e;"]


def test_a_class_that_ends_in_an_arm_has_its_other_arms() -> None:
    arms = "#if 1\n  : Base {};\n#else\n  : Other {};\n#endif"
    text = f"struct Base {{}};\n\nstruct Derived\n{arms}\n\nint f() {{ return 1; }}\n"
    facts, _ = one(text)
    assert [chunk.name for chunk in facts.chunks] == ["Base", "Derived", "f"]
    assert _roots(text)[1] == f"struct Derived\n{arms}"


def test_a_class_that_ends_in_an_arm_has_no_function_of_another_arm() -> None:
    text = "struct Base {};\nstruct Derived\n#if 1\n  : Base {};\n#else\n  ;\nint f() { return 1; }\n#endif\n"
    assert "int f() { return 1; }" in _roots(text)


def test_the_arms_of_a_short_conditional_are_one_root_with_its_directives() -> None:
    text = "// Which one?\n#if defined(A)\n#  define M(x) x\n#else\n#  define M(x) (x)\n#endif  // A\n"
    facts, _ = one(f"int f() {{ return 1; }}\n{text}\nint g() {{ return 2; }}\n")
    assert [span.char_end - span.char_start for span in facts.root_spans][1] == len(text.strip())
    assert [facts.source.text[span.char_start : span.char_end] for span in facts.spans][1:3] == [
        "#  define M(x) x",
        "#  define M(x) (x)",
    ]


def test_a_function_includes_its_own_conditional_but_shares_none() -> None:
    alone = "#ifdef A\nint f() { return 1; }\n#endif"
    assert _roots(f"{alone}\nint g() {{ return 2; }}\n") == [alone, "int g() { return 2; }"]
    two = "#ifdef A\nint f() { return 1; }\n#else\nint f() { return 2; }\n#endif\n"
    assert _roots(two) == ["int f() { return 1; }", "int f() { return 2; }"]


def test_a_class_across_the_border_of_a_conditional_is_one_chunk_with_it() -> None:
    text = "template <class T>\n#if A\nstruct S { int member; };\n#else\nstruct S { long other; };\n#endif"
    facts, _ = one(f"{text}\n", parse=False)
    torn = "template <class T>\n#if A\nstruct S {\n#else\nstruct S : B {\n#endif\n  int member;\n};"
    assert _roots(text)[0].startswith("template <class T>\n#if A")
    assert all(level_after(lex(root.encode()), 0, len(root)) == 0 for root in _roots(f"{torn}\n"))
    assert all(signature is None or "#" not in _slice(facts, signature) for signature in facts.signatures)


def _slice(facts: FileFacts, span: Span) -> str:
    return facts.source.text[span.char_start : span.char_end]


def test_a_conditional_around_a_namespaces_border_is_left_alone() -> None:
    assert _roots("#ifdef A\nint a;\nnamespace n {\n#endif\nint b;\n}\n") == ["int a;", "int b;"]


def test_every_small_declaration_is_a_chunk() -> None:
    facts, _ = one("int a;\nint b;\n#define D 1\nvoid f();\n")
    assert [(chunk.kind, chunk.name) for chunk in facts.chunks] == [
        ("other", "a"),
        ("other", "b"),
        ("preamble", "D"),
        ("func_sig", "f"),
    ]


def test_a_bare_macro_begins_the_next_declaration() -> None:
    assert _roots("#define EXPORT\nEXPORT\nint f() { return 1; }\n")[1:] == ["EXPORT\nint f() { return 1; }"]


def test_an_include_guard_defines_nothing() -> None:
    assert _roots("#ifndef A_H\n#define A_H\n#define M 1\n#define V\n#endif\n") == ["#define M 1\n#define V"]


@pytest.mark.parametrize(("name", "defined"), [("API", ["API", "M"]), ("A_H", ["M"])])
def test_a_block_of_definitions_defines_its_first_macro_unless_that_is_named_as_a_guard(
    name: str, defined: list[str]
) -> None:
    facts, _ = one(f"#include <a>\n#ifndef {name}\n#define {name}\n#define M\n#endif\nint v;\n")
    assert [chunk.name for chunk in facts.chunks if chunk.kind == "preamble"] == defined


def test_a_class_is_one_root_and_its_larger_methods_are_chunks() -> None:
    body = "int x = 0;" * (METHOD_BYTES // 10)
    text = f"struct S {{\n  int a;\n  void f() {{ {body} }}\n  int b;\n}};\n"
    facts, _ = one(text)
    assert [(chunk.kind, chunk.name) for chunk in facts.chunks] == [
        ("class_decl", "S"),
        ("func_body", "S::f"),
        ("class_member", "S"),
    ]
    assert [root.name for root in facts.roots] == ["S"]
    assert [chunk.unit for chunk in facts.chunks] == [(0, 3), (1, 2), (0, 3)]


def test_a_classes_closing_brace_is_part_of_its_root() -> None:
    body = "int x = 0;" * (METHOD_BYTES // 10)
    assert _roots(f"struct S {{ void f() {{ {body} }} }};\n")[0].endswith("};")


def test_a_typedef_of_a_nameless_struct_is_a_class_with_the_typedefs_name() -> None:
    facts, _ = one("typedef struct { int a; } pair_t;\n")
    assert [(root.kind, root.name) for root in facts.roots] == [("class_decl", "pair_t")]


_PIECES = st.lists(
    st.sampled_from(
        ["int f() { return 1; }\n", "struct S { void g() { } int m; };\n", "// c\n", "#define M 1\n", "int v;\n",
         "namespace n {\n", "}\n", "@@\n", "\n", "typedef int t;\n", "/* open\n", '"open\n', "#if 0\n", "#endif\n"]
    ),
    max_size=12,
)  # fmt: skip


def _cut(text: str) -> FileChunks:
    code = text.encode()
    lexed = lex(code)
    outline = outline_file(code, lexed, ParsedFile("a.cc", "failed", "inferred"))
    return chunk_file(code, lexed, outline)


@given(_PIECES)
def test_chunks_of_any_text_are_ordered_disjoint_and_partitioned_by_roots(pieces: list[str]) -> None:
    text = "".join(pieces)
    cut = _cut(text)
    bounds = [0, *(edge for chunk in cut.chunks for edge in (chunk.start, chunk.end)), len(text)]
    assert bounds == sorted(bounds)
    assert all(chunk.start < chunk.end for chunk in cut.chunks)
    assert [root.first for root in cut.roots] == [0, *(root.last for root in cut.roots)][: len(cut.roots)]
    assert not cut.roots or cut.roots[-1].last == len(cut.chunks)
    edges = [0, *(edge for root in cut.roots for edge in (root.start, root.end)), len(text)]
    assert edges == sorted(edges)
    for root in cut.roots:
        assert root.start <= cut.chunks[root.first].start and cut.chunks[root.last - 1].end <= root.end


@given(_PIECES)
def test_no_root_of_several_declarations_holds_half_a_conditional(pieces: list[str]) -> None:
    code = "".join(pieces).encode()
    lexed, cut = lex(code), _cut(code.decode())
    for root in cut.roots:
        held = cut.chunks[root.first : root.last]
        alone = all(chunk.unit == held[0].unit for chunk in held)
        assert alone or level_after(lexed, root.start, root.end) == 0
