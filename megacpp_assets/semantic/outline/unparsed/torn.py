"""Joins declarations that tree-sitter splits at an unknown macro, and makes nodes for code without a declaration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline.braces import Braces
from megacpp_assets.semantic.outline.kinds import MACRO_USE
from megacpp_assets.semantic.outline.macros import next_solid
from megacpp_assets.semantic.outline.nodes import Node, Outline, Role
from megacpp_assets.semantic.outline.openings import closing_start, opening_end

_HEADS = frozenset({Role.PROTOTYPE, Role.MEMBER, Role.VARIABLE, Role.OTHER})
_WHOLE = frozenset({Role.PROTOTYPE, Role.MEMBER, Role.VARIABLE, Role.CLASS, Role.FUNCTION})
_ENDS = b";,}:"
"""A declaration that ends with one of these is complete."""
_CALLED = re.compile(rb"[A-Za-z_~][\w:~]*(?=\s*\()")
_TYPE = re.compile(rb"(?:typedef|struct|union|enum|static|const)\b")
_NAMES = re.compile(rb"[A-Za-z_][\w\s*,\[\]]*;")
"""What may follow the closing brace of a type: the names of a typedef or of variables."""
_STOPS = b";}."
"""Code that ends with one of these before a conditional directive does not go on behind it."""
_LEFT_DEPTH = 2000
"""The depth of nodes for code without a declaration: deeper than all other nodes."""


def joined(code: bytes, nodes: Sequence[Node]) -> list[Node]:
    """Return `nodes` in which an incomplete declaration and the node directly after it are one declaration.

    tree-sitter parses `int f() GUARDED(mu) { … }` as a prototype and a function `GUARDED`, and `NOTE(x) int f();` as an
    expression and a prototype. The second form is joined only on one line.
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
    """Return whether `head` continues after a line break: it is a variable or begins with `template`."""
    return head.role is Role.VARIABLE or code.startswith(b"template", head.start)


class Known(NamedTuple):
    """The nodes found so far, the index of the innermost node of each byte, and which bytes are code."""

    nodes: Outline
    owner: NDArray[np.int32]
    solid: NDArray[np.bool_]


def with_own_bodies(nodes: Iterable[Node]) -> list[Node]:
    """Return `nodes` without bodies whose function is not among them, because the body would own its bytes."""
    found = list(nodes)
    functions = sorted((node.start, node.end) for node in found if node.role is Role.FUNCTION)
    starts, ends = np.array(functions, dtype=np.int64).reshape(-1, 2).T
    reached = np.append(0, np.maximum.accumulate(ends))

    def is_held(node: Node) -> bool:
        return bool(reached[np.searchsorted(starts, node.start, side="right")] >= node.end)

    return [node for node in found if node.role is not Role.BODY or is_held(node)]


def left_over(code: bytes, braces: Braces, known: Known, uses: NDArray[np.int64]) -> list[Node]:
    """Return nodes for the code that is in no declaration of the outline except namespaces.

    A body, or parameters and a body, after an incomplete declaration makes that declaration a function; an initializer
    after one completes it. Code before a function on the same line becomes the beginning of the function. All other
    code gets the role `OTHER`; a type in it extends to its names.
    """
    outline = known.nodes
    spaces = outline.role == Role.NAMESPACE
    free = known.solid & ((known.owner < 0) | np.append(spaces, False)[known.owner])
    macros, closers = dict(uses.tolist()), dict(uses[:, ::-1].tolist())
    _uncover(code, free, list(outline.take(spaces)), macros, closers)
    heads = _open_heads(code, outline)
    functions = {node.start: node for node in outline.take(outline.role == Role.FUNCTION)}
    found: list[Node] = []
    for first, end in _stretches(braces, known, free):
        begin = first
        if begin in heads and code[begin : begin + 1] == b"=":
            begin = _initialized(code, braces, begin, end)
            found.append(heads[first]._replace(end=begin, depth=_LEFT_DEPTH))
        body = _body(code, braces, begin, end) if begin in heads else (end, begin)
        if body[0] < end:
            name = _CALLED.match(code, begin)
            own = heads[begin].name if name is None else name[0].decode()
            opening = _beginning(code, heads, heads[begin])
            found.append(Node(opening, body[1], Role.FUNCTION, _LEFT_DEPTH, own, definition=True))
            found.append(Node(*body, Role.BODY, _LEFT_DEPTH + 1, ""))
        start = next_solid(code, body[1])
        after = next_solid(code, end)
        follows = functions.get(after) if b"\n" not in code[end:after] and code[end - 1] not in _ENDS else None
        if start < end and follows is not None:
            found.append(follows._replace(start=start, depth=max(follows.depth - 1, 0)))
        elif start < end:
            found.append(Node(start, _named_end(code, start, end), Role.OTHER, _LEFT_DEPTH, ""))
    return found


def _initialized(code: bytes, braces: Braces, start: int, end: int) -> int:
    """Return the end of the initializer at `start`, with its semicolon; at most `end`."""
    place = start
    while 0 <= (stop := code.find(b";", place, end)):
        opening = next(braces.openings(place, stop), stop)
        if opening == stop:
            return stop + 1
        place = braces.closing.get(opening, end) + 1
    return end


def _named_end(code: bytes, start: int, end: int) -> int:
    """Return the end of the names behind a type that is all of [start, end), as of a typedef; else `end`."""
    if code[end - 1 : end] == b"}" and _TYPE.match(code, start):
        names = _NAMES.match(code, next_solid(code, end))
        return names.end() if names else end
    return end


def _stretches(braces: Braces, known: Known, free: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the stretches of `free` code in file order.

    A stretch that opens a brace ends at the closing brace, if only free code and macro uses are between them.
    """
    places = np.flatnonzero(free)
    if not len(places):
        return
    part = np.cumsum(known.solid & ~free)[places] + _parts(braces, places)
    first = np.flatnonzero(np.diff(part, prepend=-1) | np.diff(known.owner[places], prepend=-2))
    starts, ends = places[first], places[np.append(first[1:], len(places)) - 1] + 1
    passable = ~known.solid | free | np.append(known.nodes.kind == MACRO_USE, False)[known.owner]
    barred = np.concatenate(([0], np.cumsum(~passable)))
    reached = 0
    for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if end > reached:
            start = max(begin, reached)
            stop = max((closing + 1 for closing in braces.closings(start, end)), default=end)
            reached = stop if stop > end and barred[stop] == barred[end] else end
            yield start, reached


def _parts(braces: Braces, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each of `places` the number of conditional directives before it where code has come to an end."""
    found = []
    for start, _ in braces.conditionals():
        last = int(np.searchsorted(places, start)) - 1
        if last >= 0 and braces.code[places[last]] in _STOPS:
            found.append(start)
    return np.searchsorted(np.array(found, dtype=np.int64), places)


def _body(code: bytes, braces: Braces, start: int, end: int) -> tuple[int, int]:
    """Return the body at the beginning of [start, end), perhaps after parameters; (end, start) if there is none."""
    body = next(braces.openings(start, end), end)
    closing = braces.closing.get(body, end)
    is_function = closing < end and b";" not in code[start:body] and (body == start or b"(" in code[start:body])
    return (body, closing + 1) if is_function else (end, start)


def _beginning(code: bytes, heads: Mapping[int, Node], head: Node) -> int:
    """Return where the declaration of `head` begins: a template head or a type before it may be a node of its own."""
    before = heads.get(head.start)
    while before is not None and before.start < head.start and _goes_on(code, before):
        head, before = before, heads.get(before.start)
    return head.start


def _open_heads(code: bytes, outline: Outline) -> dict[int, Node]:
    """Return the outermost incomplete declarations, by the offset of the next code."""
    found: dict[int, Node] = {}
    for node in outline:
        if node.role in _HEADS and node.end and code[node.end - 1] not in _ENDS:
            found.setdefault(next_solid(code, node.end), node)
    return found


def _uncover(
    code: bytes, free: NDArray[np.bool_], spaces: Sequence[Node], macros: Mapping[int, int], closers: Mapping[int, int]
) -> None:
    """Set `free` to false for the openings and closings of namespaces."""
    starts = {node.start for node in spaces}
    for node in spaces:
        free[node.start : opening_end(code, node, macros, starts)] = False
        free[closing_start(code, node, closers) : node.end] = False
