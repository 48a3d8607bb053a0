"""Macro invocations and attributes among declarations: one that stands before a declaration on its line begins it, one
that stands alone is a declaration of its own, and one that opens or closes a namespace is that namespace's text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import kinds as k
from megacpp_assets.semantic.lexer import Lexed, inside
from megacpp_assets.semantic.outline import Node, Role
from megacpp_assets.semantic.parsed import Cursors
from megacpp_assets.semantic.ranges import keys, paint

_ATTRIBUTE = re.compile(rb"\[\[[^\[\]]*\]\]|__attribute__\s*\(\([^;{}]*?\)\)|__declspec\s*\([^;{}()]*\)")
_GAP = re.compile(rb"(?:[ \t\r\n\f\v]|//[^\n]*|/\*[\s\S]*?\*/)*")
_HOLDERS = frozenset({Role.NAMESPACE, Role.CLASS})

Range = tuple[int, int]


def invocations(lexed: Lexed, cursors: Cursors) -> NDArray[np.int64]:
    """Ranges of the macro invocations outside directives and other invocations: shape (n, 2), ascending."""
    uses = np.flatnonzero((cursors.kind == k.MACRO_USE) & (cursors.end > cursors.start))
    ranges = np.stack([cursors.start[uses], cursors.end[uses]], axis=1).astype(np.int64)
    ranges = ranges[~inside(lexed.directives, ranges[:, 0])]
    ranges = ranges[np.lexsort((-ranges[:, 1], ranges[:, 0]))]
    reached = np.maximum.accumulate(np.append(0, ranges[:, 1]))[:-1]
    return ranges[ranges[:, 0] >= reached]


def macro_made(cursors: Cursors) -> NDArray[np.bool_]:
    """Cursors that a macro made from nothing but its arguments: their range is an invocation's."""
    ranges = keys(cursors.start, cursors.end)
    uses = cursors.kind == k.MACRO_USE
    return np.isin(ranges, ranges[uses]) & ~uses


def next_solid(code: bytes, offset: int) -> int:
    """Where the next text that is neither space nor comment begins."""
    match = _GAP.match(code, offset)
    return match.end() if match else offset


def with_macros(code: bytes, lexed: Lexed, uses: NDArray[np.int64], nodes: Sequence[Node]) -> list[Node]:
    """`nodes` with what stands before them, and the invocations that stand where a declaration could."""
    nodes, linkages = _without_bare_linkage(nodes)
    at_start = defaultdict(list)
    for number, node in enumerate(nodes):
        if node.role is not Role.NAMESPACE and node.role is not Role.BODY:
            at_start[node.start].append(number)
    starts = {number: nodes[number].start for numbers in at_start.values() for number in numbers}
    alone: list[Node] = []
    for start, end, belongs in _prefixes(code, lexed, uses, nodes, linkages):
        following = next_solid(code, end)
        if following in at_start and (belongs or b"\n" not in code[end:following]):
            at_start[start] += at_start[following]
            starts.update((number, start) for number in at_start[following])
        elif not belongs:
            stop = following + 1 if code[following : following + 1] == b";" else end
            alone.append(Node(start, stop, Role.OTHER, 0, "", kind=k.MACRO_USE))
    placed = [replace(node, start=starts.get(number, node.start)) for number, node in enumerate(nodes)]
    return placed + _placed(len(code), placed, alone)


def _prefixes(
    code: bytes, lexed: Lexed, uses: NDArray[np.int64], nodes: Sequence[Node], linkages: list[Range]
) -> Iterator[tuple[int, int, bool]]:
    """(start, end, whether it belongs to what follows even over a line break), the last one first.

    Only where declarations stand: in no node but namespaces and the braces of classes.
    """
    owner = _owner(len(code), nodes)
    edges = {node.start for node in nodes if node.role is Role.NAMESPACE}
    closing = np.array(sorted(node.end for node in nodes if node.role is Role.NAMESPACE), dtype=np.int64)
    found = [(start, end, True) for start, end in linkages]
    for start, end in uses.tolist():
        closes = np.searchsorted(closing, end, "right") > np.searchsorted(closing, start, "right")
        if start not in edges and not closes and _between(code, nodes, owner, start):
            found.append((start, end, False))
    for match in _ATTRIBUTE.finditer(code):
        if _between(code, nodes, owner, match.start()):
            hidden = inside(lexed.comments, np.array([match.start()]))[0]
            found += [] if hidden else [(*match.span(), True)]
    return iter(sorted(found, reverse=True))


def _owner(size: int, nodes: Sequence[Node]) -> NDArray[np.int32]:
    starts = np.array([node.start for node in nodes], dtype=np.int64)
    ends = np.array([node.end for node in nodes], dtype=np.int64)
    return paint(size, starts, ends, np.array([node.depth for node in nodes], dtype=np.int64))


def _between(code: bytes, nodes: Sequence[Node], owner: NDArray[np.int32], offset: int) -> bool:
    """Whether a declaration could stand at `offset`."""
    if owner[offset] < 0:
        return True
    node = nodes[owner[offset]]
    return node.role is Role.NAMESPACE or (node.role is Role.CLASS and b"{" in code[node.start : offset])


def _placed(size: int, nodes: Sequence[Node], alone: Sequence[Node]) -> list[Node]:
    """`alone` with the depths of their places; a class has them as members."""
    owner = _owner(size, nodes)
    result = []
    for node in alone:
        holder = nodes[owner[node.start]] if owner[node.start] >= 0 else None
        role = Role.MEMBER if holder is not None and holder.role is Role.CLASS else Role.OTHER
        result.append(replace(node, role=role, depth=holder.depth + 1 if holder else 1))
    return result


def _without_bare_linkage(nodes: Sequence[Node]) -> tuple[list[Node], list[Range]]:
    """Nodes without `extern "C"` that has no braces, and the ranges of its text before what it declares."""
    last: dict[int, int] = {}
    for node in nodes:
        if node.role not in _HOLDERS or node.kind in k.CLASSES:
            last[node.end] = min(node.start, last.get(node.end, node.start))
    bare = [node for node in nodes if node.kind == k.LINKAGE and last.get(node.end, -1) > node.start]
    kept = [node for node in nodes if node not in bare]
    return kept, [(node.start, last[node.end]) for node in bare]
