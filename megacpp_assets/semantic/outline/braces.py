"""The braces of a file that are code, and where what they open ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.outline.nodes import Node, Role
from megacpp_assets.semantic.outline.ranges import cover

_OPEN, _CLOSE = b"{}"
_BODIED = frozenset({Role.FUNCTION, Role.CLASS, Role.BODY})


class Braces:
    """The braces of a file that are code: not in comments, literals or directives (`hidden` marks those)."""

    def __init__(self, code: bytes, lexed: Lexed) -> None:
        data = np.frombuffer(code, dtype=np.uint8)
        self._code = code
        self.hidden = lexed.commented | lexed.quoted | lexed.directed
        self._places = np.flatnonzero(((data == _OPEN) | (data == _CLOSE)) & ~self.hidden)
        self._steps = np.where(data[self._places] == _OPEN, 1, -1)
        self._directives = lexed.directives[:, 0]

    def made_whole(self, nodes: Sequence[Node], limit: int) -> list[Node]:
        """`nodes` in which a body that syntax ended early (a macro confused it) ends where its brace is closed."""
        ends = {}
        for node in nodes:
            closing = self._behind_body(node, limit)
            if node.end < closing <= limit and not self._directed(node.start, closing):
                ends[node.end] = closing
        if not ends:
            return list(nodes)
        swallowed = cover(limit, np.array(list(ends)), np.array(list(ends.values())))
        # Syntax counts a semicolon behind a body that it ended early to the function.
        ends |= {end + 1: closing for end, closing in ends.items() if self._code[end : end + 1] == b";"}
        return [
            node._replace(end=ends[node.end]) if node.role in _BODIED and node.end in ends else node
            for node in nodes
            if node.start < limit and not swallowed[node.start]
        ]

    def _behind_body(self, node: Node, limit: int) -> int:
        """Where the body that `node` is, or that of the class it defines, ends; 0 if it is neither."""
        if node.role is Role.BODY:
            return self.closing.get(node.start, limit) + 1
        first = np.searchsorted(self._places, node.start) if node.role is Role.CLASS and node.definition else None
        if first is None or first == len(self._places) or self._places[first] >= node.end:
            return 0
        end = self.closing.get(int(self._places[first]), limit) + 1
        return end + 1 if self._code[end : end + 1] == b";" else end

    @cached_property
    def closing(self) -> dict[int, int]:
        """The closing brace of each opening one that has one."""
        found, opened = {}, []
        for place, step in zip(self._places.tolist(), self._steps.tolist(), strict=True):
            if step > 0:
                opened.append(place)
            elif opened:
                found[opened.pop()] = place
        return found

    def openings(self, start: int, end: int) -> Iterator[int]:
        """Where braces open in [start, end)."""
        first, last = np.searchsorted(self._places, (start, end))
        return (int(place) for place in self._places[first:last][self._steps[first:last] > 0])

    def closings(self, start: int, end: int) -> Iterator[int]:
        """Where the braces are closed that open in [start, end), as far as they are."""
        return (self.closing[place] for place in self.openings(start, end) if place in self.closing)

    def _directed(self, start: int, end: int) -> bool:
        first, last = np.searchsorted(self._directives, (start, end))
        return bool(first < last)

    def left_open(self, start: int, end: int) -> int:
        """How many braces opened in [start, end) are still open at its end."""
        first, last = np.searchsorted(self._places, (start, end))
        level = np.cumsum(self._steps[first:last])
        return int(level[-1] - min(0, level.min())) if len(level) else 0
