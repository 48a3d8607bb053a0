from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.graph.groups import METHOD_BYTES, groups_of
from megacpp_assets.semantic.outline.kinds import MACRO_USE
from megacpp_assets.semantic.outline.lexer import lex
from megacpp_assets.semantic.outline.nodes import Node, Outline, Role

CODE = b"x" * 1000


def _groups(*nodes: Node, code: bytes = CODE) -> list[tuple[int, int, str, str, bool]]:
    return [group[:5] for group in groups_of(code, lex(code), Outline.of(nodes).in_order())]


def _node(start: int, end: int, role: Role, name: str, *, definition: bool = True, kind: int = 0) -> Node:
    return Node(start, end, role, 1, name, 0, definition, kind)


def test_overlapping_declarations_are_one_group_and_touching_ones_two() -> None:
    one, other = _node(0, 20, Role.VARIABLE, "a"), _node(10, 30, Role.VARIABLE, "b")
    assert _groups(one, other) == [(0, 30, "other", "a", False)]
    assert _groups(one, other._replace(start=20)) == [(0, 20, "other", "a", False), (20, 30, "other", "b", False)]


def test_a_namespace_holds_its_groups_apart_and_a_body_is_no_declaration() -> None:
    nodes = (_node(0, 90, Role.NAMESPACE, "n"), _node(5, 20, Role.PROTOTYPE, "n::f"), _node(40, 60, Role.BODY, ""))
    assert _groups(*nodes) == [(5, 20, "func_sig", "n::f", False)]


def test_a_group_is_named_after_its_function_or_its_class() -> None:
    made = _node(0, 50, Role.OTHER, "Test_Case")
    function = _node(0, 50, Role.FUNCTION, "Test_Case::body")
    assert _groups(made, function) == [(0, 50, "func_body", "Test_Case::body", True)]
    inside = _node(10, 40, Role.FUNCTION, "S::f")
    assert _groups(_node(0, 50, Role.CLASS, "S"), inside) == [(0, 50, "class_decl", "S", True)]


def test_a_typedef_names_the_group_unless_it_contains_the_class() -> None:
    named, alias = _node(8, 20, Role.CLASS, "S", definition=False), _node(0, 25, Role.TYPEDEF, "T")
    assert _groups(named, alias) == [(0, 25, "typedef", "T", False)]
    assert _groups(named._replace(definition=True), alias) == [(0, 25, "class_decl", "S", True)]


def test_a_group_without_a_good_name_has_that_of_the_first_member_with_one() -> None:
    nodes = (_node(0, 50, Role.CLASS, "(unnamed)"), _node(5, 9, Role.MEMBER, ""), _node(10, 20, Role.MEMBER, "x"))
    assert _groups(*nodes) == [(0, 50, "class_decl", "x", True)]
    assert _groups(nodes[0]) == [(0, 50, "class_decl", "(unnamed)", True)]


def test_the_larger_methods_are_those_of_classes() -> None:
    large, small = _node(5, 5 + METHOD_BYTES, Role.FUNCTION, "S::f"), _node(300, 310, Role.FUNCTION, "S::g")
    (group,) = groups_of(CODE, lex(CODE), Outline.of([_node(0, 400, Role.CLASS, "S"), large, small]))
    assert group.methods == ((5, 5 + METHOD_BYTES, "S::f"),)
    (alone,) = groups_of(CODE, lex(CODE), Outline.of([large]))
    assert alone.methods == ()


def test_a_bare_macro_begins_the_declaration_right_behind_it() -> None:
    code = b"EXPORT\nint f();\n"
    macro, function = _node(0, 6, Role.OTHER, "", kind=MACRO_USE), _node(7, 15, Role.PROTOTYPE, "f")
    assert _groups(macro, function, code=code) == [(0, 15, "func_sig", "f", False)]
    apart = code.replace(b"\n", b"\n\n", 1)
    assert len(_groups(macro, function._replace(start=8, end=16), code=apart)) == 2


def test_punctuation_alone_is_no_group() -> None:
    assert _groups(_node(0, 3, Role.OTHER, ""), code=b";;;") == []


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20), st.sampled_from(Role), st.booleans()), max_size=8))
def test_groups_do_not_overlap_and_contain_every_declaration(rows: list[tuple[int, int, Role, bool]]) -> None:
    nodes = [_node(start, start + size, role, "n", definition=solid) for start, size, role, solid in rows]
    groups = _groups(*nodes)
    assert all(first[1] <= second[0] for first, second in pairwise(groups))
    held = [node for node in nodes if node.role not in (Role.NAMESPACE, Role.BODY)]
    assert all(any(start <= node.start and node.end <= end for start, end, *_ in groups) for node in held)


def test_a_class_that_libclang_knows_by_the_first_part_of_its_name_has_all_of_it() -> None:
    code = b"template <> struct far:: hash<key> : base {};"
    names = [_groups(_node(0, len(code), Role.CLASS, name), code=code)[0][3] for name in ("far", "hash")]
    assert names == ["far::hash", "hash"]
