"""Declarations are cut where a file is whole between them, and what they hold does not depend on other files."""

from __future__ import annotations

from pathlib import Path

import pytest

import megacpp_assets
from megacpp_assets.versions._lines import line_starts
from megacpp_assets.versions.syntax import without_open_conditionals
from megacpp_assets.windows.declarations import Declaration, declarations
from megacpp_assets.windows.functions import DeclarationParser, Functions

_SAMPLE = Path(megacpp_assets.__file__).parent / "sample" / "repos"


def _cut(code: bytes) -> list[tuple[str, str]]:
    """The last line of each declaration, and its scope."""
    found = declarations(code)
    return [(code[each.start : each.end].decode().strip().splitlines()[-1], "::".join(each.scope)) for each in found]


_BODY = "void f() {}"
_CUT: list[tuple[bytes, list[tuple[str, str]]]] = [
    (b"", []),
    (b"int a;\nvoid f() {}\nint g() { return 2; }\n", [(_BODY, ""), ("int g() { return 2; }", "")]),
    (b"namespace a::b { namespace { void f() {} } }\nvoid g() {}", [(_BODY, "a::b"), ("void g() {}", "")]),
    (b'extern "C" {\nvoid f() {}\n}\n', [(_BODY, "")]),
    (b"X::X() : a{1}, b{2} { f(); }\nX::~X() {}", [("X::X() : a{1}, b{2} { f(); }", ""), ("X::~X() {}", "")]),
    (b"void f(S s = {}, T t = T{1}) { }\nvoid f() {}", [("void f(S s = {}, T t = T{1}) { }", ""), (_BODY, "")]),
    (b"struct S { int a{}; } s;\nvoid f() {}", [("struct S { int a{}; }", ""), (_BODY, "")]),
    (b"void f() try { } catch (...) { }\n", [("void f() try { } catch (...) { }", "")]),
    (b"class A { void f() { if (a) { } } };\n", [("class A { void f() { if (a) { } } };", "")]),
    (b"auto f = [](int a) { return a; };\nint b;", [("auto f = [](int a) { return a; };", "")]),
    (b"void g() { g(\"}\", '{'); /* } */ }  // }", [("void g() { g(\"}\", '{'); /* } */ }", "")]),
    (b'auto t = R"x(})" }; {)x";\nvoid f() {}', [(_BODY, "")]),
    (b"#define OPEN namespace a { \\\n  {\nvoid f() {}\n", [(_BODY, "")]),
    (b"namespace a {\nstruct B {};\n}  // namespace a\nvoid f() {}\n", [("struct B {};", "a"), (_BODY, "")]),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), _CUT)
def test_a_file_is_cut_into_its_outermost_declarations(code: bytes, expected: list[tuple[str, str]]) -> None:
    assert _cut(code) == expected


@pytest.mark.parametrize("code", [b"int f() {", b"void f() {}\n}\nvoid g() {}\n", b"namespace a { void f() {}"])
def test_a_file_whose_braces_are_not_balanced_is_one_declaration(code: bytes) -> None:
    assert declarations(code) == [Declaration(0, len(code), ())]


def test_directives_of_a_conditional_that_a_declaration_is_only_a_part_of_become_blanks() -> None:
    code = b"#endif\n#if A && \\\n    B\nvoid f() {\n#ifdef C\n  g();\n#else\n  h();\n#endif\n}"
    blanked = b"      \n         \n     \nvoid f() {\n#ifdef C\n  g();\n#else\n  h();\n#endif\n}"
    assert len(code) == len(without_open_conditionals(code))
    assert without_open_conditionals(code).split() == blanked.split()


def _columns(parser: DeclarationParser, found: Functions) -> list[list[str] | list[int]]:
    """The functions with names for their numbers, which depend on what was parsed before."""
    columns = (found.name, found.scope, found.qualified, found.callee, found.asked)
    numbers = [column.tolist() for column in columns]
    named = [[parser.names.name(each) if each >= 0 else str(each) for each in column] for column in numbers]
    return [*named, *(column.tolist() for column in (found.first, found.end, found.calls, found.line))]


def test_functions_of_a_file_do_not_depend_on_the_files_before_it() -> None:
    """Also not for a version that shares most of its declarations with another one."""
    paths = (path for path in sorted(_SAMPLE.rglob("*")) if path.suffix in {".h", ".cc", ".cpp"})
    sources = [path.read_bytes() for path in paths]
    texts = [text.replace(b"return", b"  return", count) for text in sources for count in (0, 1, -1)]
    together = DeclarationParser()
    found = [_columns(together, together.functions_of(text, line_starts(text))) for text in texts]
    for text, columns in zip(texts[::-1], found[::-1], strict=True):
        alone = DeclarationParser()
        assert _columns(alone, alone.functions_of(text, line_starts(text))) == columns
    assert sum(len(columns[0]) for columns in found) > 100
