from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.graph.chunks import FileChunks, chunk_file
from megacpp_assets.semantic.graph.groups import METHOD_BYTES
from megacpp_assets.semantic.outline.file_outline import outline_file
from megacpp_assets.semantic.outline.lexer import level_behind, lex
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from tests.semantic.sources import one


def _roots(text: str) -> list[str]:
    """The text of each root."""
    facts, _ = one(text)
    chunks = facts.chunks
    return [facts.source.text[chunks[r.first].start : chunks[r.last - 1].end] for r in facts.roots]


def test_a_function_brings_its_comment_and_a_blank_line_parts_them() -> None:
    text = "// licence\n\n// doc\n// more\nint f() { return 1; }  // tail\nint g() { return 2; }\n"
    assert _roots(text) == ["// doc\n// more\nint f() { return 1; }  // tail", "int g() { return 2; }"]


def test_small_declarations_that_stand_together_are_one_root() -> None:
    text = "int a;\nint b;\n#define M 1\nvoid f();\nstruct S { int x; };\nint c;\n"
    assert _roots(text) == ["int a;\nint b;\n#define M 1\nvoid f();", "struct S { int x; };", "int c;"]


def test_a_run_holds_whole_conditionals_only() -> None:
    text = (
        "#if 1\nint a;\nvoid f();\n#if 2\nint b;\n#endif\nint c;\n#else\nint d;\n#endif\nvoid g();\n#ifdef X\nint e;\n"
    )
    whole = "int a;\nvoid f();\n#if 2\nint b;\n#endif\nint c;"
    assert _roots(text + "#endif\n") == [whole, "int d;", "void g();", "int e;"]


def test_neighbours_of_one_kind_share_a_chunk_but_not_across_a_directive() -> None:
    facts, _ = one("int a;\nint b;\n#if 1\nint c;\n#endif\nvoid f();\n")
    assert [(chunk.kind, chunk.name) for chunk in facts.chunks] == [("other", "a"), ("other", "c"), ("func_sig", "f")]


def test_a_bare_macro_begins_the_declaration_it_stands_before() -> None:
    assert _roots("#define EXPORT\nEXPORT\nint f() { return 1; }\n")[1:] == ["EXPORT\nint f() { return 1; }"]


def test_an_include_guard_defines_nothing() -> None:
    assert _roots("#ifndef A_H\n#define A_H\n#define M 1\n#define V\n#endif\n") == ["#define M 1\n#define V"]


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


@given(_PIECES)
def test_no_root_of_several_declarations_holds_half_a_conditional(pieces: list[str]) -> None:
    code = "".join(pieces).encode()
    lexed, cut = lex(code), _cut(code.decode())
    for root in cut.roots:
        held = cut.chunks[root.first : root.last]
        alone = all(chunk.unit == held[0].unit for chunk in held)
        assert alone or level_behind(lexed, held[0].start, held[-1].end) == 0
