from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.outline.nodes import Role
from megacpp_assets.semantic.outline.unparsed.treesitter import syntax_outline


def _found(text: str) -> list[tuple[Role, str, str]]:
    """(role, name, text) of each node but bodies."""
    code = text.encode()
    return [
        (node.role, node.name, code[node.start : node.end].decode())
        for node in syntax_outline(code)
        if node.role is not Role.BODY
    ]


def test_names_are_qualified_by_the_scopes_around_them() -> None:
    text = "namespace a { class B { void f() { return; } int g(); }; }\nvoid a::B::h() {}\n"
    assert [(role, name) for role, name, _ in _found(text)] == [
        (Role.NAMESPACE, "a"),
        (Role.CLASS, "a::B"),
        (Role.FUNCTION, "a::B::f"),
        (Role.MEMBER, "a::B::g"),
        (Role.FUNCTION, "a::B::h"),
    ]


def test_a_template_has_the_role_of_what_it_declares() -> None:
    declared = ("struct S {};", "T f(T t) { return t; }", "using P = T *;")
    text = "".join(f"template <class T> {line}\n" for line in declared)
    assert [role for role, _, _ in _found(text)] == [Role.CLASS, Role.FUNCTION, Role.TYPEDEF]


def test_a_pointer_to_a_function_is_a_variable_and_a_prototype_is_none() -> None:
    assert [(role, name) for role, name, _ in _found("int (*ptr)(int);\nint *fun(int);\n")] == [
        (Role.VARIABLE, "ptr"),
        (Role.PROTOTYPE, "fun"),
    ]


def test_a_class_is_one_behind_an_unknown_macro_and_before_a_variable_of_it() -> None:
    (role, name, text), *_ = _found("class EXPORT Box { int a; };\n")
    assert (role, name, text) == (Role.CLASS, "Box", "class EXPORT Box { int a; };")
    found = [(role, name) for role, name, _ in _found("struct S { int a; } s;\n")]
    assert found == [(Role.VARIABLE, "s"), (Role.CLASS, "S"), (Role.MEMBER, "S::a")]


def test_branches_of_a_conditional_are_both_seen() -> None:
    text = "#if A\nint f() { return 1; }\n#else\nint g() { return 2; }\n#endif\n"
    assert [name for _, name, _ in _found(text)] == ["f", "g"]


def test_a_semicolon_belongs_to_its_declaration() -> None:
    assert [text for _, _, text in _found("class Later;\nenum E { kA, kB };\n")] == [
        "class Later;", "enum E { kA, kB };", "kA,", "kB",
    ]  # fmt: skip


@given(st.binary(max_size=60))
def test_any_bytes_have_an_outline_inside_them(code: bytes) -> None:
    assert all(0 <= node.start <= node.end <= len(code) for node in syntax_outline(code))


def test_nesting_without_end_costs_no_more_than_its_length() -> None:
    assert len(syntax_outline(b"#if 0\nint a;\n" * 20_000)) == 20_000
    deepest = max(len(node.name) for node in syntax_outline(b"class A {" * 2_000 + b"};" * 2_000))
    assert deepest < 1_000


def test_a_nameless_declaration_has_no_scope_as_name() -> None:
    names = [node.name for node in syntax_outline(b"namespace a {\n;\nstruct { int x; } y;\nint z;\n}\n")]
    assert names.count("a") == 1 and "a::z" in names
