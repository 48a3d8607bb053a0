"""Cuts a root that is longer than a document may be into parts, at the ends of lines that end a statement.

In: a root, the size of any text and the most of a part. Out: parts that follow each other without a gap, each with the
text that opens the blocks around it. No part begins inside parentheses, a comment or a conditional of the root.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from megacpp_assets.semantic.documents.items.member_places import ASIDE
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository
from megacpp_assets.semantic.graph.signatures import first_code
from megacpp_assets.semantic.graph.spaces import Span, spans_of
from megacpp_assets.semantic.outline.lexer import Lexed, level_after, lex

_MARKS = list(b"(){}[];,")
_ASIDE = re.compile(rb"(?:\s|" + ASIDE.pattern + rb")*", re.S)
_GOES_ON = re.compile(rb"(?:else|catch)\b|[;,)]")
"""A statement that continues with this has not ended yet. A block that begins with it means nothing alone."""

_ENDED = re.compile(rb"(?:=\s*+|\b(?:class|struct|union|enum)\b[^(){};=]*+)\{\Z")
"""What opens a block behind which a semicolon stands: an initializer, or a class."""

_LEAST_REST = 4
"""The rest after a part that is too long becomes a separate part if it has at least this fraction of a part."""

Blocks = tuple[tuple[int, int], ...]
"""For each open block, the bytes that open it: from the beginning of its statement to the byte after its brace."""


@dataclass(frozen=True, slots=True)
class RootPart(PlacedRoot):
    """A part of a long root: `span` is its own text, `chunks` are those with text in it, `opened` is the text that
    opens the blocks around it, and `closing` closes the blocks that are open at its end."""

    chunks: tuple[int, int]
    opened: tuple[Span, ...]
    closing: str


class _End(NamedTuple):
    """The beginning of a line after a statement, with the blocks that are open there."""

    place: int
    blocks: Blocks


def parts_of(repository: Repository, place: PlacedRoot, size: Callable[[str], int], most: int) -> list[RootPart]:
    """Return the parts of the root at `place`, of about the same `size`; none if it cannot be cut.

    A part has at most `most`, or more where no statement ends that early.
    """
    source, root = repository.files[place.file].source, place.span

    def size_of(ranges: Sequence[tuple[int, int]]) -> int:
        return sum(size(source.data[start:end].decode("utf-8", "replace")) for start, end in ranges)

    ends = [*_ends(source.data, lex(source.data), root.start, root.end), _End(root.end, ())]
    cuts = [_End(root.start, ())]
    while cuts[-1].place < root.end:
        begin, blocks = cuts[-1]
        above, rest = size_of(blocks), size_of([(begin, root.end)])
        share = rest / math.ceil((above + rest) / most)
        fits = bisect_right(ends, share, key=lambda end: size_of([(begin, max(begin, end.place))]))
        reach = ends[fits - 1].place if fits else begin
        if reach <= begin:
            reach = next(end.place for end in ends if end.place > begin)
            reach = root.end if size_of([(reach, root.end)]) < share / _LEAST_REST else reach
        cuts.append(_best(ends, (begin + reach) // 2, reach))
    if len(cuts) == 2:
        return []
    is_function = repository.nodes[place.unit[0]].chunk.kind == "func_body"
    return [_part(repository, place, first, last, is_function=is_function) for first, last in pairwise(cuts)]


def _best(ends: Sequence[_End], least: int, most: int) -> _End:
    """Return the last of the ends in (least, most] that have the fewest blocks around them."""
    return min((end for end in ends if least < end.place <= most), key=lambda end: (len(end.blocks), -end.place))


def _part(repository: Repository, place: PlacedRoot, first: _End, last: _End, *, is_function: bool) -> RootPart:
    source = repository.files[place.file].source
    span, *opened = spans_of(source, [(first.place, last.place), *first.blocks])
    closing = "".join(_closing(source.data[begin:end]) for begin, end in reversed(last.blocks))
    closing += ";" if closing.endswith("}") and not is_function else ""
    chunks = _within(repository, place, span)
    return RootPart(place.file, place.root, span, place.unit, place.spaces, chunks, tuple(opened), closing)


def _closing(opening: bytes) -> str:
    """Return what closes a block."""
    return "};" if _ENDED.search(opening) else "}"


def _within(repository: Repository, place: PlacedRoot, span: Span) -> tuple[int, int]:
    """Return the range of the chunks of a root that have text in `span`."""
    chunks = ((number, repository.nodes[number].chunk) for number in range(*place.unit))
    found = [number for number, chunk in chunks if chunk.start < span.end and span.start < chunk.end]
    return (found[0], found[-1] + 1) if found else place.unit


def _ends(code: bytes, lexed: Lexed, start: int, end: int) -> Iterator[_End]:
    """Yield the ends of statements in [start, end) where only braces are open, with the blocks around them."""
    hidden = lexed.commented | lexed.quoted | lexed.directed
    data = np.frombuffer(code, dtype=np.uint8)[start:end]
    opened: list[tuple[bytes, int, int]] = []
    begun = start
    for at in (np.flatnonzero(np.isin(data, _MARKS) & ~hidden[start:end]) + start).tolist():
        mark = code[at : at + 1]
        if mark in b"([{":
            opened.append((mark, begun, at + 1))
        elif mark in b")]}" and opened:
            opened.pop()
        is_inside = any(each != b"{" for each, _, _ in opened)
        if mark in b"{};" and not is_inside:
            begun = at + 1
        line = code.find(b"\n", at, end) + 1
        if mark not in b"};," or is_inside or not line or not _is_aside(code, lexed, at + 1, line):
            continue
        blocks = tuple((first_code(code, lexed, first, last), last) for _, first, last in opened)
        starts = [line, *(first for first, _ in blocks)]
        goes_on = any(_GOES_ON.match(code, _behind(code, each)) for each in starts)
        if not goes_on and not any(level_after(lexed, *each) for each in ((start, line), *blocks)):
            yield _End(line, blocks)


def _is_aside(code: bytes, lexed: Lexed, start: int, end: int) -> bool:
    """Return whether [start, end) has only space and comments, and no comment continues after it."""
    return not bool(lexed.commented[end - 1]) and _behind(code, start) >= end


def _behind(code: bytes, start: int) -> int:
    """Return where the code begins, after space and comments."""
    found = _ASIDE.match(code, start)
    return found.end() if found else start
