"""Declarations that syntax tears where a macro is unknown to it, put together again; and code that nobody claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline.macros import next_solid
from megacpp_assets.semantic.outline.nodes import Node, Outline, Role
from megacpp_assets.semantic.outline.openings import closing_start, opening_end

_HEADS = frozenset({Role.PROTOTYPE, Role.MEMBER, Role.VARIABLE, Role.OTHER})
_WHOLE = frozenset({Role.PROTOTYPE, Role.MEMBER, Role.VARIABLE, Role.CLASS, Role.FUNCTION})
_ENDS = b";,}:"
"""A declaration that ends with one of these goes on nowhere."""
_BRACE = ord("{")
_LEFT_DEPTH = 2000
"""Of what is left over: deeper than all that was found."""


def joined(code: bytes, nodes: Sequence[Node]) -> list[Node]:
    """`nodes` in which a head without an end and what follows it at once are one declaration.

    `int f() GUARDED(mu) { … }` comes as a prototype and a function `GUARDED`, `NOTE(x) int f();` as an expression and a
    prototype; the latter is one only on one line.
    """
    result = list(nodes)
    following = {node.start: number for number, node in reversed(list(enumerate(result))) if node.role in _WHOLE}
    for number in range(len(result) - 1, -1, -1):
        head = result[number]
        if head.role not in _HEADS or code[head.end - 1] in _ENDS:
            continue
        after = next_solid(code, head.end)
        other = following.get(after)
        if other is None or result[other].depth != head.depth:
            continue
        whole = result[other]
        if head.role is Role.PROTOTYPE and whole.role is Role.FUNCTION:
            result[other] = whole._replace(start=head.start, name=head.name or whole.name)
        elif b"\n" not in code[head.end : after] or _goes_on(code, head):
            result[other] = whole._replace(start=head.start)
        else:
            continue
        following[head.start] = other
        result[number] = head._replace(end=head.start)
    return sorted(
        (node for node in result if node.end > node.start), key=lambda node: (node.start, -node.end, node.depth)
    )


def _goes_on(code: bytes, head: Node) -> bool:
    """Whether a line break cannot end `head`: it begins a template or names what the next line declares."""
    return head.role is Role.VARIABLE or code.startswith(b"template", head.start)


def left_over(
    code: bytes, outline: Outline, owner: NDArray[np.int32], solid: NDArray[np.bool_], uses: NDArray[np.int64]
) -> list[Node]:
    """Nodes for the stretches of code that no declaration of `outline` holds, namespaces aside.

    One that begins with the brace behind a declaration is that declaration's body, one before a function on its line
    begins the function; any other is code nobody knows.
    """
    spaces = outline.role == Role.NAMESPACE
    free = solid & ((owner < 0) | np.append(spaces, False)[owner])
    macros, closers = dict(uses.tolist()), dict(uses[:, ::-1].tolist())
    _uncover(code, free, list(outline.take(spaces)), macros, closers)
    places = np.flatnonzero(free)
    if not len(places):
        return []
    part = np.cumsum(solid & ~free)[places]
    first = np.flatnonzero(np.diff(part, prepend=-1) | np.diff(owner[places], prepend=-2))
    starts, ends = places[first], places[np.append(first[1:], len(places)) - 1] + 1
    heads = _open_heads(code, outline)
    functions = {node.start: node for node in outline.take(outline.role == Role.FUNCTION)}
    found = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        head = heads.get(start) if code[start] == _BRACE else None
        after = next_solid(code, end)
        follows = functions.get(after) if b"\n" not in code[end:after] and code[end - 1] not in _ENDS else None
        if head is not None:
            found.append(Node(head.start, end, Role.FUNCTION, _LEFT_DEPTH, head.name, definition=True))
            found.append(Node(start, end, Role.BODY, _LEFT_DEPTH + 1, ""))
        elif follows is not None:
            found.append(follows._replace(start=start, depth=max(follows.depth - 1, 0)))
        else:
            found.append(Node(start, end, Role.OTHER, _LEFT_DEPTH, ""))
    return found


def _open_heads(code: bytes, outline: Outline) -> dict[int, Node]:
    """The outermost of the declarations that end without an end, by where the next code begins."""
    found: dict[int, Node] = {}
    for node in outline:
        if node.role in _HEADS and node.end and code[node.end - 1] not in _ENDS:
            found.setdefault(next_solid(code, node.end), node)
    return found


def _uncover(
    code: bytes, free: NDArray[np.bool_], spaces: Sequence[Node], macros: Mapping[int, int], closers: Mapping[int, int]
) -> None:
    """Take the openings and closings of namespaces out of `free`."""
    starts = {node.start for node in spaces}
    for node in spaces:
        free[node.start : opening_end(code, node, macros, starts)] = False
        free[closing_start(code, node, closers) : node.end] = False
