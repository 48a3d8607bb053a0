"""The braces of a file that are code, and the closing brace of each opening one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.outline.nodes import Node, Role
from megacpp_assets.semantic.outline.ranges import cover

_OPEN, _CLOSE = b"{}"
_OPENING = frozenset({"if", "ifdef", "ifndef"})
_CONDITIONALS = _OPENING | {"elif", "else", "endif"}
_BODIED = frozenset({Role.FUNCTION, Role.CLASS, Role.BODY})


class Braces:
    """The braces of a file that are code: not in comments, literals or directives (`hidden` marks those)."""

    def __init__(self, code: bytes, lexed: Lexed) -> None:
        data = np.frombuffer(code, dtype=np.uint8)
        self.code = self._code = code
        self.hidden = lexed.commented | lexed.quoted | lexed.directed
        self._places = np.flatnonzero(((data == _OPEN) | (data == _CLOSE)) & ~self.hidden)
        self._steps = np.where(data[self._places] == _OPEN, 1, -1)
        self._directives, self._names = lexed.directives[:, 0], lexed.names

    def extended_to_braces(self, nodes: Sequence[Node], limit: int) -> list[Node]:
        """Return `nodes` in which each body ends at its closing brace. tree-sitter may end it early at an unknown
        macro.
        """
        ends = {}
        for node in nodes:
            closing = self._body_end(node, limit)
            if node.end < closing <= limit and not self._has_directive(node.start, closing):
                ends[node.end] = closing
        if not ends:
            return list(nodes)
        swallowed = cover(limit, np.array(list(ends)), np.array(list(ends.values())))
        # tree-sitter adds a semicolon after a body that it ended early to the function.
        ends |= {end + 1: closing for end, closing in ends.items() if self._code[end : end + 1] == b";"}
        return [
            node._replace(end=ends[node.end]) if node.role in _BODIED and node.end in ends else node
            for node in nodes
            if node.start < limit and not swallowed[node.start]
        ]

    def _body_end(self, node: Node, limit: int) -> int:
        """Return the end of a body, or of a class definition with its semicolon; 0 if `node` is neither."""
        if node.role is Role.BODY:
            return self.closing.get(node.start, limit) + 1
        first = np.searchsorted(self._places, node.start) if node.role is Role.CLASS and node.definition else None
        if first is None or first == len(self._places) or self._places[first] >= node.end:
            return 0
        end = self.closing.get(int(self._places[first]), limit) + 1
        return end + 1 if self._code[end : end + 1] == b";" else end

    @cached_property
    def closing(self) -> dict[int, int]:
        """The offset of the closing brace of each opening one; unclosed braces are left out."""
        found, opened = {}, []
        for place, step in zip(self._places.tolist(), self._steps.tolist(), strict=True):
            if step > 0:
                opened.append(place)
            elif opened:
                found[opened.pop()] = place
        return found

    def openings(self, start: int, end: int) -> Iterator[int]:
        """Yield the offsets of opening braces in [start, end)."""
        first, last = np.searchsorted(self._places, (start, end))
        return (int(place) for place in self._places[first:last][self._steps[first:last] > 0])

    def closings(self, start: int, end: int) -> Iterator[int]:
        """Yield the closing braces of the braces that open in [start, end); unclosed ones are left out."""
        return (self.closing[place] for place in self.openings(start, end) if place in self.closing)

    def _has_directive(self, start: int, end: int) -> bool:
        first, last = np.searchsorted(self._directives, (start, end))
        return bool(first < last)

    def conditionals(self) -> Iterator[tuple[int, str]]:
        """Yield the offset and the name of each directive of a condition, in order."""
        return (
            (place, name)
            for place, name in zip(self._directives.tolist(), self._names, strict=True)
            if name in _CONDITIONALS
        )

    def leaving(self, start: int, end: int) -> int:
        """Return the offset of the directive in [start, end) that ends a condition which begins before; -1 if none."""
        first, last = np.searchsorted(self._directives, (start, end))
        level = 0
        for number in range(first, last):
            level += (self._names[number] in _OPENING) - (self._names[number] == "endif")
            if level < 0:
                return int(self._directives[number])
        return -1

    def unclosed(self, start: int, end: int) -> int:
        """Return how many braces that open in [start, end) are still open at its end."""
        first, last = np.searchsorted(self._places, (start, end))
        level = np.cumsum(self._steps[first:last])
        return int(level[-1] - min(0, level.min())) if len(level) else 0
