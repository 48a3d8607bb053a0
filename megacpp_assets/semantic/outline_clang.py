"""The outline of a parsed file, from libclang's cursors: declarations outside function bodies, vectorised."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import kinds as k
from megacpp_assets.semantic.lexer import Lexed
from megacpp_assets.semantic.outline import Node, Role
from megacpp_assets.semantic.outline_ends import declaration_ends
from megacpp_assets.semantic.outline_macros import invocations, macro_made, with_macros
from megacpp_assets.semantic.parsed import FLAG_DEFINITION, Cursors, Symbol
from megacpp_assets.semantic.ranges import flattened, keys

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
    made = macro_made(cursors)
    bodies = _bodies(cursors)
    bodies = bodies[np.isin(cursors.parent[bodies], chosen) & ~made[cursors.parent[bodies]]]
    has_body = np.zeros(len(cursors.kind) + 1, dtype=bool)
    has_body[cursors.parent[bodies]] = True
    roles = _roles(cursors, chosen, has_body, made)
    uses = invocations(lexed, cursors)
    ends = declaration_ends(code, lexed, cursors, chosen, uses)
    facts = zip(chosen.tolist(), ends.tolist(), _depths(cursors, chosen).tolist(), roles, strict=True)
    nodes = [_node(cursors, symbols, index, (end, depth, role)) for index, end, depth, role in facts]
    nodes += [
        Node(int(cursors.start[body]), int(cursors.end[body]), Role.BODY, int(cursors.depth[body]), "")
        for body in bodies.tolist()
    ]
    return sorted(with_macros(code, lexed, uses, nodes), key=lambda node: (node.start, -node.end, node.depth))


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


def _depths(cursors: Cursors, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Depths of the `chosen` cursors, flat where a macro made them, so that TEST(a, b) { … } is a function."""
    ranges = keys(cursors.start, cursors.end)
    macros = ranges[cursors.kind == k.MACRO_USE]
    return flattened(cursors.depth[chosen].astype(np.int64), ranges[chosen], macros)


def _bodies(cursors: Cursors) -> NDArray[np.int64]:
    """Indices of the compound statements and try blocks that are bodies of functions; `= default` has none."""
    parents = np.maximum(cursors.parent, 0)
    statement = ((cursors.kind == k.COMPOUND) | (cursors.kind == k.TRY)) & (cursors.end > cursors.start + 1)
    return np.flatnonzero(statement & (cursors.parent >= 0) & _FUNCTION_KIND[cursors.kind[parents]])


def _roles(
    cursors: Cursors, chosen: NDArray[np.int64], has_body: NDArray[np.bool_], made: NDArray[np.bool_]
) -> list[Role]:
    roles = []
    for index in chosen.tolist():
        kind, parent = int(cursors.kind[index]), int(cursors.parent[index])
        while made[index] and parent >= 0 and made[parent]:
            parent = int(cursors.parent[parent])
        role = Role.OTHER if made[index] else _PLAIN_ROLE[kind]
        if has_body[index] and kind in k.FUNCTIONS:
            role = Role.FUNCTION
        elif role in _BECOMES_MEMBER and parent >= 0 and _IN_CLASS[cursors.kind[parent]]:
            role = Role.MEMBER
        roles.append(role)
    return roles


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
