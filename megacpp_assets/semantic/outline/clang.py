"""The outline of a parsed file from libclang's cursors: declarations outside of function bodies, with numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.ends import declaration_ends
from megacpp_assets.semantic.outline.instantiations import with_instantiations
from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.outline.macros import invocations, macro_made, prefixes, with_macros, with_whole_borders
from megacpp_assets.semantic.outline.nodes import Outline, Role
from megacpp_assets.semantic.parsing.parsed import FLAG_DEFINITION, Cursors, Symbols

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
_PLAIN = np.array([_PLAIN_ROLE.get(kind, Role.OTHER) for kind in range(k.KINDS)], dtype=np.uint8)
_BECOMES_MEMBER = np.isin(list(Role), (Role.PROTOTYPE, Role.VARIABLE, Role.USING, Role.OTHER))
"""Roles that become `MEMBER` inside of a class."""

_STRUCTURAL = k.membership(frozenset(_PLAIN_ROLE))
_CLASS_KIND = k.membership(k.CLASSES)
_FUNCTION_KIND = k.membership(k.FUNCTIONS)
_OPEN = k.membership(k.CLASSES | {k.NAMESPACE, k.LINKAGE, k.UNEXPOSED, k.FRIEND})
_OPEN_TO_CLASSES = k.membership(k.ALIASES | {k.VARIABLE, k.FIELD})
"""Kinds in which only a class counts, as in `typedef struct { … } t;`."""
_IN_CLASS = k.membership(k.CLASSES | {k.FRIEND})


def clang_outline(code: bytes, lexed: Lexed, cursors: Cursors, symbols: Symbols) -> Outline:
    """Return the nodes of `cursors` in pre-order, each with its attributes and macros, up to its closing semicolon."""
    structural = _structural(cursors)
    chosen = np.flatnonzero(structural)
    uses = invocations(lexed, cursors)
    made = macro_made(cursors, chosen, uses)
    bodies = _bodies(cursors)
    bodies = bodies[(structural & ~made)[cursors.parent[bodies]]]
    has_body = np.zeros(len(cursors.kind) + 1, dtype=bool)
    has_body[cursors.parent[bodies]] = True
    ends = declaration_ends(code, lexed, cursors, chosen, uses)
    outline = _declarations(cursors, symbols, chosen, (ends, has_body, made)).joined(_body_nodes(cursors, bodies))
    outline = with_whole_borders(uses, outline)
    return with_macros(code, uses, prefixes(code, lexed), with_instantiations(code, lexed, outline)).in_order()


def _structural(cursors: Cursors) -> NDArray[np.bool_]:
    """Return which cursors declare something outside of function bodies, found level by level from the top."""
    wanted = np.flatnonzero(_STRUCTURAL[cursors.kind] & (cursors.end > cursors.start))
    parents = cursors.parent[wanted]
    found = np.zeros(len(cursors.kind), dtype=bool)
    found[wanted[parents < 0]] = True
    held = parents >= 0
    wanted, parents = wanted[held], parents[held]
    kind = cursors.kind[parents]
    allowed = _OPEN[kind] | (_OPEN_TO_CLASSES[kind] & _CLASS_KIND[cursors.kind[wanted]])
    wanted, parents = wanted[allowed], parents[allowed]
    while len(level := np.flatnonzero(found[parents] & ~found[wanted])):
        found[wanted[level]] = True
    return found


def _bodies(cursors: Cursors) -> NDArray[np.int64]:
    """Return the indices of statements that are bodies of functions; `= default` has no body."""
    parents = np.maximum(cursors.parent, 0)
    statement = ((cursors.kind == k.COMPOUND) | (cursors.kind == k.TRY)) & (cursors.end > cursors.start + 1)
    return np.flatnonzero(statement & (cursors.parent >= 0) & _FUNCTION_KIND[cursors.kind[parents]])


def _body_nodes(cursors: Cursors, bodies: NDArray[np.int64]) -> Outline:
    """Return the nodes of the `bodies`, which have no name."""
    none = np.zeros(len(bodies), dtype=np.int64)
    return Outline(
        start=cursors.start[bodies].astype(np.int64),
        end=cursors.end[bodies].astype(np.int64),
        role=np.full(len(bodies), Role.BODY, dtype=np.uint8),
        depth=cursors.depth[bodies].astype(np.int64),
        name=np.full(len(bodies), "", dtype=np.object_),
        usr=none.astype(np.uint64),
        definition=none.astype(np.bool_),
        kind=none.astype(np.uint16),
    )


def _declarations(
    cursors: Cursors,
    symbols: Symbols,
    chosen: NDArray[np.int64],
    facts: tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]],
) -> Outline:
    """Return the nodes of the `chosen` cursors. `facts`: their ends, which cursors have bodies, which a macro declares.

    All declarations of one macro use have the depth of the outermost one, so that TEST(a, b) { … } is a function.
    """
    ends, has_body, made = facts
    outer = _outermost(cursors, chosen, made)
    return Outline(
        start=cursors.start[chosen].astype(np.int64),
        end=ends,
        role=_roles(cursors, chosen, outer, (has_body, made)),
        depth=cursors.depth[outer].astype(np.int64),
        name=symbols.names(cursors.declares[chosen]),
        usr=symbols.usrs(cursors.declares[chosen]),
        definition=(cursors.flags[chosen] & FLAG_DEFINITION) != 0,
        kind=cursors.kind[chosen],
    )


def _roles(
    cursors: Cursors,
    chosen: NDArray[np.int64],
    outer: NDArray[np.int64],
    facts: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> NDArray[np.uint8]:
    """Return the role of each `chosen` cursor, by its kind and by the parent of its `outer` cursor."""
    has_body, made = facts
    kind, holder = cursors.kind[chosen], cursors.parent[outer]
    holder_kind = np.where(holder >= 0, cursors.kind[holder], k.KINDS - 1)
    role = np.where(made[chosen], np.uint8(Role.OTHER), _PLAIN[kind])
    member = (_BECOMES_MEMBER[role] & _IN_CLASS[holder_kind]) | ((role == Role.CLASS) & (holder_kind == k.FRIEND))
    role[member] = Role.MEMBER
    role[has_body[chosen] & _FUNCTION_KIND[kind]] = Role.FUNCTION
    return role


def _outermost(cursors: Cursors, chosen: NDArray[np.int64], made: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each `chosen` cursor the outermost cursor of the same macro use; itself outside of macros."""
    outer = chosen.copy()
    while True:
        parent = cursors.parent[outer]
        climbs = made[outer] & (parent >= 0) & made[parent]
        if not climbs.any():
            return outer
        outer[climbs] = parent[climbs]
