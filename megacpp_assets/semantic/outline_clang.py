"""The outline of a parsed file, from libclang's cursors: declarations outside function bodies, vectorised."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import kinds as k
from megacpp_assets.semantic.instantiations import with_instantiations
from megacpp_assets.semantic.lexer import Lexed
from megacpp_assets.semantic.outline import Node, Role
from megacpp_assets.semantic.outline_ends import declaration_ends
from megacpp_assets.semantic.outline_macros import invocations, macro_made, prefixes, with_macros
from megacpp_assets.semantic.parsed import FLAG_DEFINITION, Cursors, Symbol

_PLAIN_ROLE = {
    **dict.fromkeys((k.NAMESPACE, k.LINKAGE), Role.NAMESPACE),
    **dict.fromkeys(sorted(k.CLASSES), Role.CLASS),
    **dict.fromkeys(sorted(k.FUNCTIONS), Role.PROTOTYPE),
    **dict.fromkeys((k.FIELD, k.ENUM_CONSTANT, k.FRIEND), Role.MEMBER),
    **dict.fromkeys((*sorted(k.ALIASES), k.CONCEPT), Role.TYPEDEF),
    **dict.fromkeys((k.USING_DIRECTIVE, k.USING_DECLARATION, k.NAMESPACE_ALIAS), Role.USING),
    k.VARIABLE: Role.VARIABLE,
    k.STATIC_ASSERT: Role.OTHER,
    k.UNEXPOSED: Role.OTHER,
}
_BECOMES_MEMBER = frozenset({Role.PROTOTYPE, Role.VARIABLE, Role.USING, Role.OTHER})
"""Roles that are `MEMBER` where a class holds them."""

_STRUCTURAL = k.membership(frozenset(_PLAIN_ROLE))
_CLASS_KIND = k.membership(k.CLASSES)
_FUNCTION_KIND = k.membership(k.FUNCTIONS)
_OPEN = k.membership(k.CLASSES | {k.NAMESPACE, k.LINKAGE, k.UNEXPOSED, k.FRIEND})
_OPEN_TO_CLASSES = k.membership(k.ALIASES | {k.VARIABLE, k.FIELD})
"""`typedef struct { … } t;` holds a class and nothing else of ours."""
_IN_CLASS = k.membership(k.CLASSES | {k.FRIEND})


def clang_outline(code: bytes, lexed: Lexed, cursors: Cursors, symbols: Mapping[int, Symbol]) -> list[Node]:
    """Nodes of `cursors` in pre-order, each with what stands before it and stretched over its closing semicolon."""
    chosen = np.flatnonzero(_structural(cursors))
    uses = invocations(lexed, cursors)
    made = macro_made(cursors, uses)
    bodies = _bodies(cursors)
    bodies = bodies[np.isin(cursors.parent[bodies], chosen) & ~made[cursors.parent[bodies]]]
    has_body = np.zeros(len(cursors.kind) + 1, dtype=bool)
    has_body[cursors.parent[bodies]] = True
    ends = declaration_ends(code, lexed, cursors, chosen, uses)
    nodes = [
        _node(cursors, symbols, index, (end, *_place(cursors, index, bool(has_body[index]), made)))
        for index, end in zip(chosen.tolist(), ends.tolist(), strict=True)
    ]
    nodes += [
        Node(int(cursors.start[body]), int(cursors.end[body]), Role.BODY, int(cursors.depth[body]), "")
        for body in bodies.tolist()
    ]
    nodes = with_macros(code, uses, prefixes(code, lexed), with_instantiations(code, lexed, nodes))
    return sorted(nodes, key=lambda node: (node.start, -node.end, node.depth))


def _structural(cursors: Cursors) -> NDArray[np.bool_]:
    """Cursors that declare something outside every function body, found level by level from the top."""
    wanted = _STRUCTURAL[cursors.kind] & (cursors.end > cursors.start)
    found = wanted & (cursors.parent < 0)
    level = found
    while level.any():
        parents = np.maximum(cursors.parent, 0)
        under = level[parents] & (cursors.parent >= 0)
        parent_kind = cursors.kind[parents]
        allowed = _OPEN[parent_kind] | (_OPEN_TO_CLASSES[parent_kind] & _CLASS_KIND[cursors.kind])
        level = wanted & under & allowed
        found = found | level
    return found


def _bodies(cursors: Cursors) -> NDArray[np.int64]:
    """Indices of the compound statements and try blocks that are bodies of functions; `= default` has none."""
    parents = np.maximum(cursors.parent, 0)
    statement = ((cursors.kind == k.COMPOUND) | (cursors.kind == k.TRY)) & (cursors.end > cursors.start + 1)
    return np.flatnonzero(statement & (cursors.parent >= 0) & _FUNCTION_KIND[cursors.kind[parents]])


def _place(cursors: Cursors, index: int, body: bool, made: NDArray[np.bool_]) -> tuple[int, Role]:
    """Depth and role. All that a macro declares has the depth of the outermost of it, so that TEST(a, b) { … } is a
    function."""
    kind, outer = int(cursors.kind[index]), index
    while made[outer] and cursors.parent[outer] >= 0 and made[cursors.parent[outer]]:
        outer = int(cursors.parent[outer])
    role = Role.OTHER if made[index] else _PLAIN_ROLE[kind]
    holder = int(cursors.parent[outer])
    if body and kind in k.FUNCTIONS:
        role = Role.FUNCTION
    elif role in _BECOMES_MEMBER and holder >= 0 and _IN_CLASS[cursors.kind[holder]]:
        role = Role.MEMBER
    elif role is Role.CLASS and holder >= 0 and cursors.kind[holder] == k.FRIEND:
        role = Role.MEMBER
    return int(cursors.depth[outer]), role


def _node(cursors: Cursors, symbols: Mapping[int, Symbol], index: int, facts: tuple[int, int, Role]) -> Node:
    end, depth, role = facts
    usr = int(cursors.usr[index])
    symbol = symbols.get(usr)
    return Node(
        start=int(cursors.start[index]),
        end=end,
        role=role,
        depth=depth,
        name=symbol.qualified_name if symbol else "",
        usr=usr,
        definition=bool(cursors.flags[index] & FLAG_DEFINITION),
        kind=int(cursors.kind[index]),
    )
