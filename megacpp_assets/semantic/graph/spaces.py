"""The namespaces of a file, with the text that opens and closes each: braces or macros."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline.nodes import Node, Outline, Role
from megacpp_assets.semantic.outline.openings import closing_start, opening_end
from megacpp_assets.semantic.tree.text import SourceText

_NAME = re.compile(rb"[A-Za-z_]\w*")
_KEPT = 8
"""The maximum number of nested namespaces that are recorded; the innermost are kept."""
_CLOSER = re.compile(r"[A-Za-z_]\w*")
_CAPITALS = re.compile(rb"\b[A-Z][A-Z0-9_]+\b")
"""A word that may be a macro which the parser could not expand."""


class Span(NamedTuple):
    """A half-open range of a file in bytes and in characters."""

    start: int
    end: int
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class Space:
    """A namespace, or several that one macro or one head opens together.

    `opening` is its text up to the brace or to the end of the macro, `closing` is the text that closes it, and `end`
    the byte at which it ends. `name` is the qualified name of the innermost one. `macro` is the macro that opens it, or
    "". `within` are the macros in its head, as in `namespace LIB_NAMESPACE::inner {`, and words that may be macros.
    """

    opening: Span
    closing: str
    end: int
    name: str
    macro: str
    within: tuple[str, ...] = ()

    @property
    def macros(self) -> frozenset[str]:
        """The names of the macros that open and close it, and of those in its head."""
        return frozenset({*filter(None, (self.macro,)), *_CLOSER.findall(self.closing), *self.within})


def spaces_of(source: SourceText, outline: Outline, uses: NDArray[np.int64]) -> list[Space]:
    """Return the namespaces of a file in the order of their openings. `uses` are the ranges of macro invocations."""
    nodes = list(outline.take(outline.role == Role.NAMESPACE))
    macros, closers = dict(uses.tolist()), dict(uses[:, ::-1].tolist())
    starts = {node.start for node in nodes}
    found: dict[int, list[Node]] = {}
    reached = 0
    for node in nodes:
        # A macro in a head, as in `namespace MACRO::inner {`, opens nothing by itself.
        reached = reached if node.start < reached else opening_end(source.data, node, macros, starts)
        found.setdefault(reached, []).append(node)
    openings = spans_of(source, [(together[0].start, end) for end, together in found.items()])
    return [
        Space(
            opening,
            _closing(source.data, together, closers),
            together[-1].end,
            together[-1].name,
            _macro(source.data, together[0], macros),
            _within(source.data, opening, macros),
        )
        for opening, together in zip(openings, found.values(), strict=True)
    ]


def around(spaces: Sequence[Space], offsets: Sequence[int]) -> Iterator[tuple[Space, ...]]:
    """Yield the innermost `spaces` around each of the ascending `offsets`, outer ones first, in one pass over both."""
    inside: list[Space] = []
    number = 0
    for offset in offsets:
        while number < len(spaces) and spaces[number].opening.end <= offset:
            inside = [space for space in inside if space.end > spaces[number].opening.start]
            inside.append(spaces[number])
            number += 1
        inside = [space for space in inside if space.end > offset]
        yield tuple(inside[-_KEPT:])


def is_linkage(space: Space, text: str) -> bool:
    """Return whether a space of a file with this `text` is no namespace but `extern "C" {`, or a macro for that."""
    is_macro = bool(space.macro) and not space.name
    return is_macro or text.startswith("extern", space.opening.char_start)


def spans_of(source: SourceText, ranges: Sequence[tuple[int, int]]) -> list[Span]:
    """Return byte ranges of a file with their ranges of characters."""
    if source.is_ascii:
        return [Span(start, end, start, end) for start, end in ranges]
    places = source.chars(np.array(ranges, dtype=np.int64).reshape(-1, 2)).tolist()
    return [Span(*range_, *place) for range_, place in zip(ranges, places, strict=True)]


def _macro(code: bytes, node: Node, macros: Mapping[int, int]) -> str:
    name = _NAME.match(code, node.start) if node.start in macros else None
    return name[0].decode() if name else ""


def _within(code: bytes, opening: Span, macros: Mapping[int, int]) -> tuple[str, ...]:
    """Return the macros of an opening behind its first word, in their order."""
    words = _NAME.finditer(code, opening.start, opening.end)
    found = (word for word in words if word.start() in macros or _CAPITALS.fullmatch(word[0]))
    return tuple(dict.fromkeys(word[0].decode() for word in found if word.start() > opening.start))


def _closing(code: bytes, together: Sequence[Node], closers: Mapping[int, int]) -> str:
    """Return the text that closes all namespaces that one text opens, from the first closing on."""
    start = min(closing_start(code, node, closers) for node in together)
    return code[start : together[0].end].decode(errors="replace")
