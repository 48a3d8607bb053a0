"""Macro invocations and attributes among declarations: one that stands before a declaration on its line begins it, one
that stands alone is a declaration of its own, and one that opens or closes a namespace is that namespace's text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import kinds as k
from megacpp_assets.semantic.lexer import Lexed, inside
from megacpp_assets.semantic.outline import BODY, CLASS, MEMBER, NAMESPACE, OTHER, Node, Role
from megacpp_assets.semantic.parsed import Cursors
from megacpp_assets.semantic.ranges import paint

_ATTRIBUTE = re.compile(rb"\[\[[^\[\]]*\]\]|__attribute__\s*\(\([^;{}]{0,400}?\)\)|__declspec\s*\([^;{}()]*\)")
_GAP = re.compile(rb"(?:[ \t\r\n\f\v]|//[^\n]*|/\*[\s\S]*?\*/)*")
_ATTRIBUTE_MARKS = (b"[[", b"__attribute__", b"__declspec")
_TEMPLATE = re.compile(rb"template\s*<")
_NO_TEMPLATE = re.compile(rb"[\w.:>]")
"""Before one of these bytes `template` is no template's head."""
_BRACKET = re.compile(rb"->|[<>()\[\]{};]")
_CLOSING = {b"<": b">", b"(": b")", b"[": b"]", b"{": b"}"}
_FARTHEST, _DEEPEST = 4000, 32
"""A longer text, or more brackets within each other, is no template's head."""
_NAME = re.compile(rb"[A-Za-z_]\w*")
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


def prefixes(code: bytes, lexed: Lexed) -> NDArray[np.int64]:
    """Ranges of attributes and template heads, outside comments: shape (n, 2)."""
    marked = any(mark in code for mark in _ATTRIBUTE_MARKS)
    spans = [match.span() for match in _ATTRIBUTE.finditer(code)] if marked else []
    heads = (match.span() for match in _TEMPLATE.finditer(code))
    heads = ((start, end) for start, end in heads if not start or not _NO_TEMPLATE.match(code, start - 1))
    spans += [(start, stop) for start, end in heads if (stop := _head_end(code, end - 1))]
    found = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return found[~inside(lexed.comments, found[:, 0])]


def _head_end(code: bytes, opening: int) -> int:
    """Behind the `>` that closes the `<` at `opening`; 0 if brackets do not match."""
    opened: list[bytes] = []
    for match in _BRACKET.finditer(code, opening, opening + _FARTHEST):
        mark = match[0]
        if mark in _CLOSING and (mark != b"<" or not opened or opened[-1] == b"<"):
            opened.append(mark)
        elif mark == _CLOSING[opened[-1]]:
            opened.pop()
        elif mark not in b"<->":
            break
        if not opened:
            return match.end()
        if len(opened) > _DEEPEST:
            break
    return 0


def macro_made(cursors: Cursors, uses: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Cursors of what an invocation alone declares: they lie in it, and not in its arguments."""
    if not len(uses):
        return np.zeros(len(cursors.kind), dtype=bool)
    first, last = uses[np.maximum(np.searchsorted(uses[:, 0], cursors.start, side="right") - 1, 0)].T
    within = (first <= cursors.start) & (cursors.end <= last) & (cursors.kind != k.MACRO_USE)
    return np.asarray(within & ((cursors.start == first) | (cursors.end == last)))


@dataclass(frozen=True, slots=True)
class MacroNames:
    """Names of the macros that a file invokes, and of those that open or close a namespace in it."""

    known: frozenset[bytes] = frozenset()
    spaces: frozenset[bytes] = frozenset()


def macro_names(code: bytes, uses: NDArray[np.int64], nodes: Sequence[Node]) -> MacroNames:
    """The macros that `code` invokes at `uses`."""
    names = [_NAME.match(code, start) for start in uses[:, 0].tolist()]
    borders = _borders(uses, nodes).tolist()
    return MacroNames(
        frozenset(name[0] for name in names if name),
        frozenset(name[0] for name, border in zip(names, borders, strict=True) if name and border),
    )


def _borders(uses: NDArray[np.int64], nodes: Sequence[Node]) -> NDArray[np.bool_]:
    """Which of `uses` open or close a namespace."""
    if not len(uses):
        return np.zeros(0, dtype=bool)
    spaces = [node for node in nodes if node.role is NAMESPACE]
    starts = np.array([node.start for node in spaces], dtype=np.int64)
    ends = np.array(sorted(node.end for node in spaces), dtype=np.int64)
    first, last = np.searchsorted(ends, uses[:, 0], side="right"), np.searchsorted(ends, uses[:, 1], side="right")
    return np.asarray(np.isin(uses[:, 0], starts) | (first < last))


def next_solid(code: bytes, offset: int) -> int:
    """Where the next text that is neither space nor comment begins."""
    match = _GAP.match(code, offset)
    return match.end() if match else offset


def with_macros(code: bytes, uses: NDArray[np.int64], before: NDArray[np.int64], nodes: Sequence[Node]) -> list[Node]:
    """`nodes` with what stands before them (invocations of `uses` on their line, attributes and template heads of
    `before` on any), and the invocations that stand where a declaration could."""
    nodes, linkages = _without_bare_linkage(nodes)
    if not (len(uses) or len(before) or linkages):
        return nodes
    at_start = defaultdict(list)
    for number, node in enumerate(nodes):
        if node.role is not NAMESPACE and node.role is not BODY:
            at_start[node.start].append(number)
    starts: dict[int, int] = {}
    alone: list[Node] = []
    for start, end, belongs, holder in _candidates(code, uses, (*before.tolist(), *linkages), nodes):
        following = next_solid(code, end)
        if following in at_start and (belongs or b"\n" not in code[end:following]):
            at_start[start] += at_start[following]
            starts.update((number, start) for number in at_start[following])
        elif not belongs:
            stop = following + 1 if code[following : following + 1] == b";" else end
            role = MEMBER if holder is not None and holder.role is CLASS else OTHER
            alone.append(Node(start, stop, role, holder.depth + 1 if holder else 1, "", kind=k.MACRO_USE))
    placed = list(nodes)
    for number, start in starts.items():
        placed[number] = nodes[number]._replace(start=start)
    return placed + alone


def _candidates(
    code: bytes, uses: NDArray[np.int64], before: Sequence[Range], nodes: Sequence[Node]
) -> list[tuple[int, int, bool, Node | None]]:
    """(start, end, whether it belongs to what follows even over a line break, holder), the last one first.

    Only where declarations stand: in no node but namespaces and the braces of classes.
    """
    owner = innermost(len(code), nodes)
    found = [(start, end, False) for start, end in uses[~_borders(uses, nodes)].tolist()]
    found += [(start, end, True) for start, end in before]
    result = []
    for start, end, belongs in sorted(found, reverse=True):
        holder = nodes[owner[start]] if owner[start] >= 0 else None
        if holder is None or between(code, holder, start):
            result.append((start, end, belongs, holder))
    return result


def innermost(size: int, nodes: Sequence[Node]) -> NDArray[np.int32]:
    """Which of `nodes` each byte lies in, -1 for none."""
    starts = np.array([node.start for node in nodes], dtype=np.int64)
    ends = np.array([node.end for node in nodes], dtype=np.int64)
    return paint(size, starts, ends, np.array([node.depth for node in nodes], dtype=np.int64))


def between(code: bytes, holder: Node, offset: int) -> bool:
    """Whether a declaration could stand at `offset`, which `holder` owns: in a namespace or a class's braces."""
    return holder.role is NAMESPACE or (holder.role is CLASS and code.find(b"{", holder.start, offset) >= 0)


def _without_bare_linkage(nodes: Sequence[Node]) -> tuple[list[Node], list[Range]]:
    """Nodes without `extern "C"` that has no braces, and the ranges of its text before what it declares."""
    if k.LINKAGE not in [node.kind for node in nodes]:
        return list(nodes), []
    last: dict[int, int] = {}
    for node in nodes:
        if node.role not in _HOLDERS or node.kind in k.CLASSES:
            last[node.end] = min(node.start, last.get(node.end, node.start))
    bare = [node.kind == k.LINKAGE and last.get(node.end, -1) > node.start for node in nodes]
    kept = [node for node, is_bare in zip(nodes, bare, strict=True) if not is_bare]
    return kept, [(node.start, last[node.end]) for node, is_bare in zip(nodes, bare, strict=True) if is_bare]
