"""Declarations in text that the preprocessor dropped: each stretch is parsed by syntax alone, inside what holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import kinds as k
from megacpp_assets.semantic.lexer import Lexed
from megacpp_assets.semantic.outline import Node, Role
from megacpp_assets.semantic.ranges import cover
from megacpp_assets.semantic.treesitter import has_errors, syntax_outline

_SPACE, _NEWLINE = 32, 10
_OPEN, _CLOSE = b"{}"
_BODIED = frozenset({Role.FUNCTION, Role.BODY})
_WORD = re.compile(r"[A-Za-z_]\w*")


class Braces:
    """The braces of a file that are code: not in comments, literals or directives."""

    def __init__(self, code: bytes, lexed: Lexed) -> None:
        data = np.frombuffer(code, dtype=np.uint8)
        hidden = cover(len(code), *np.concatenate([lexed.comments, lexed.literals, lexed.directives]).T)
        self._places = np.flatnonzero(((data == _OPEN) | (data == _CLOSE)) & ~hidden)
        self._steps = np.where(data[self._places] == _OPEN, 1, -1)
        self._directives = lexed.directives[:, 0]

    def closing(self, opening: int, limit: int) -> int:
        """Behind the brace that closes the one at `opening`; 0 if none does before `limit`."""
        first, last = np.searchsorted(self._places, (opening, limit))
        level = np.cumsum(self._steps[first:last])
        closed = np.flatnonzero(level == 0)
        return int(self._places[first + closed[0]]) + 1 if len(closed) else 0

    def made_whole(self, nodes: Sequence[Node], limit: int) -> list[Node]:
        """`nodes` in which a body that syntax ended early (a macro confused it) ends where its brace is closed."""
        ends: dict[int, int] = {}
        for node in nodes:
            if node.role is Role.BODY:
                closing = self.closing(node.start, limit)
                if closing > node.end and not self._directed(node.start, closing):
                    ends[node.end] = closing
        return [
            replace(node, end=ends[node.end]) if node.role in _BODIED and node.end in ends else node
            for node in nodes
            if not any(old <= node.start < new for old, new in ends.items())
        ]

    def _directed(self, start: int, end: int) -> bool:
        first, last = np.searchsorted(self._directives, (start, end))
        return bool(first < last)

    def left_open(self, start: int, end: int) -> int:
        """How many braces opened in [start, end) are still open at its end."""
        first, last = np.searchsorted(self._places, (start, end))
        level = np.cumsum(self._steps[first:last])
        return int(level[-1] - min(0, level.min())) if len(level) else 0


def dropped_nodes(
    code: bytes, lexed: Lexed, nodes: Sequence[Node], owner: NDArray[np.int32], ranges: Sequence[tuple[int, int]]
) -> Iterator[Node]:
    """Nodes of the dropped `ranges` that lie in a namespace, a class or nothing (`owner` indexes `nodes`)."""
    braces = Braces(code, lexed)
    for start, end in ranges:
        if not 0 <= start < end <= len(code):
            continue
        holder = nodes[owner[start]] if owner[start] >= 0 else None
        inside = holder is None or (holder.role is Role.CLASS and b"{" in code[holder.start : start])
        if inside or (holder is not None and holder.role is Role.NAMESPACE):
            yield from _region(code, lexed, braces, (start, end), holder)


def _region(code: bytes, lexed: Lexed, braces: Braces, region: tuple[int, int], holder: Node | None) -> Iterator[Node]:
    start, end = region
    opening, scope = _opening(holder)
    closing = b"}" * braces.left_open(start, end) + (b"};" if opening else b"")
    shift = start - len(opening)
    text = opening + _readable(code, lexed, region) + closing
    nodes = [
        replace(node, start=node.start + shift, end=min(node.end + shift, end))
        for node in syntax_outline(text, scope)
        if node.start >= len(opening) and node.start + shift < end
    ]
    yield from braces.made_whole(nodes, end)


def _opening(holder: Node | None) -> tuple[bytes, str]:
    """What makes the text of a class parse as such, and the scope around it."""
    if holder is None or holder.role is not Role.CLASS:
        return b"", holder.name if holder else ""
    scope, _, name = holder.name.rpartition("::")
    keyword = b"enum " if holder.kind == k.ENUM else b"struct "
    return keyword + (name.encode() if _WORD.fullmatch(name) else b"") + b" {", scope


def _readable(code: bytes, lexed: Lexed, region: tuple[int, int]) -> bytes:
    """The region without the directives at its edges, or without any where those tear its declarations."""
    start, end = region
    inner = lexed.directives[(lexed.directives[:, 1] > start) & (lexed.directives[:, 0] < end)]
    edges = inner[[0, -1]] if len(inner) else inner
    text = _blanked(code, region, edges)
    if len(inner) > len(np.unique(edges[:, 0])) and has_errors(text):
        return _blanked(code, region, inner)
    return text


def _blanked(code: bytes, region: tuple[int, int], directives: NDArray[np.int64]) -> bytes:
    start, end = region
    data = np.frombuffer(code, dtype=np.uint8)[start:end].copy()
    for first, last in (directives - start).tolist():
        part = data[max(first, 0) : last]
        part[part != _NEWLINE] = _SPACE
    return data.tobytes()
