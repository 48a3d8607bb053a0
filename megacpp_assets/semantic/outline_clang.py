"""The outline of a parsed file, from libclang's cursors: declarations outside function bodies, vectorised."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import kinds as k
from megacpp_assets.semantic.lexer import Lexed, inside
from megacpp_assets.semantic.outline import Node, Role
from megacpp_assets.semantic.parsed import FLAG_DEFINITION, Cursors, Symbol
from megacpp_assets.semantic.ranges import cover, flattened, keys

_SPACE = np.isin(np.arange(256), list(b" \t\r\n\f\v\\"))
_SEMICOLON, _COMMA = ord(";"), ord(",")

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
    """Nodes of `cursors` in pre-order, each stretched over its closing semicolon."""
    chosen = np.flatnonzero(_structural(cursors))
    bodies = _bodies(cursors)
    depths = _depths(cursors, chosen)
    has_body = np.zeros(len(cursors.kind) + 1, dtype=bool)
    has_body[cursors.parent[bodies]] = True
    ends = _with_terminator(code, lexed, cursors, chosen)
    nodes = [
        _node(cursors, symbols, index, (end, depth, body))
        for index, end, depth, body in zip(
            chosen.tolist(), ends.tolist(), depths.tolist(), has_body[chosen].tolist(), strict=True
        )
    ]
    outer = np.isin(cursors.parent[bodies], chosen)
    nodes += [
        Node(int(cursors.start[body]), int(cursors.end[body]), Role.BODY, int(cursors.depth[body]), "")
        for body in bodies[outer].tolist()
    ]
    nodes += _macro_uses(code, lexed, cursors, nodes)
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


def _with_terminator(code: bytes, lexed: Lexed, cursors: Cursors, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ends of the `chosen` cursors, moved past a semicolon (an enumerator's comma) that follows."""
    data = np.frombuffer(code, dtype=np.uint8)
    solid = np.flatnonzero(~_SPACE[data])
    solid = solid[~inside(lexed.comments, solid)]
    ends = cursors.end[chosen].astype(np.int64)
    if not len(solid):
        return ends
    where = np.searchsorted(solid, ends)
    following = solid[np.minimum(where, len(solid) - 1)]
    mark = np.where(where < len(solid), data[following], 0)
    takes = (mark == _SEMICOLON) | ((mark == _COMMA) & (cursors.kind[chosen] == k.ENUM_CONSTANT))
    return np.where(takes, following + 1, ends)


def _node(cursors: Cursors, symbols: Mapping[int, Symbol], index: int, facts: tuple[int, int, bool]) -> Node:
    end, depth, body = facts
    kind, parent, usr = int(cursors.kind[index]), int(cursors.parent[index]), int(cursors.usr[index])
    role = _PLAIN_ROLE[kind]
    if body and kind in k.FUNCTIONS:
        role = Role.FUNCTION
    elif role in _BECOMES_MEMBER and parent >= 0 and _IN_CLASS[cursors.kind[parent]]:
        role = Role.MEMBER
    symbol = symbols.get(usr)
    return Node(
        start=int(cursors.start[index]),
        end=end,
        role=role,
        depth=depth,
        name=symbol.qualified_name if symbol else "",
        usr=usr,
        definition=bool(cursors.flags[index] & FLAG_DEFINITION),
        kind=kind,
    )


def _macro_uses(code: bytes, lexed: Lexed, cursors: Cursors, nodes: list[Node]) -> list[Node]:
    """Macro invocations that stand where a declaration could: in no other node but namespaces.

    One that opens or closes a namespace is that namespace's text, and makes no node.
    """
    uses = np.flatnonzero(cursors.kind == k.MACRO_USE)
    starts, ends = cursors.start[uses].astype(np.int64), cursors.end[uses].astype(np.int64)
    spaces = [node for node in nodes if node.role is Role.NAMESPACE]
    held = [node for node in nodes if node.role is not Role.NAMESPACE]
    taken = cover(len(code), *_bounds(held)) if held else np.zeros(len(code), dtype=bool)
    free = (ends > starts) & ~taken[starts] & ~inside(lexed.directives, starts)
    edges = {node.start for node in spaces}
    closing = np.array(sorted(node.end for node in spaces), dtype=np.int64)
    result, reached = [], 0
    for start, end in sorted(zip(starts[free].tolist(), ends[free].tolist(), strict=True)):
        closes = len(closing) and np.searchsorted(closing, end, "right") > np.searchsorted(closing, start, "right")
        if start >= reached and start not in edges and not closes:
            stop = end + (code[end : end + 1] == b";")
            result.append(Node(start, stop, Role.OTHER, 1, "", kind=k.MACRO_USE))
        reached = max(reached, end)
    return result


def _bounds(nodes: list[Node]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return (
        np.array([node.start for node in nodes], dtype=np.int64),
        np.array([node.end for node in nodes], dtype=np.int64),
    )
