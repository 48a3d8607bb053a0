"""One file through all layers: lexed, outlined, painted, cut into chunks, linked.

Pure: bytes and cursors in, facts and painted characters out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.uncollected import uncollected
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.documents.chunks import Chunk, Root, chunk_file
from megacpp_assets.semantic.documents.link import FileLinks, file_links, no_links
from megacpp_assets.semantic.labels.paint import paint_file
from megacpp_assets.semantic.labels.symbol_names import symbol_table
from megacpp_assets.semantic.outline.file_outline import outline_file
from megacpp_assets.semantic.outline.lexer import Lexed, lex
from megacpp_assets.semantic.outline.macros import NO_USES, invocations
from megacpp_assets.semantic.outline.nodes import Node, Outline, Role
from megacpp_assets.semantic.outline.openings import closing_start, opening_end
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.tree.text import SourceText

_SPACES = 8
_HEAD_DIRECTIVES = frozenset({"include", "include_next", "import"})


class Span(NamedTuple):
    """A stretch of a file in bytes and in characters, half-open."""

    start: int
    end: int
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class Space:
    """A namespace: its opening (`namespace a {`), what closes it, the byte where it ends, its qualified name.

    Namespaces that one text opens (`namespace a::b {`, a macro) are one, with the innermost's name.
    """

    opening: Span
    closing: Span
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What documents and tables need of a file.

    `chunks`, their `spans` and `roots` are in file order; `head` holds its includes and using-declarations, ascending;
    `spaces` the (at most eight innermost) namespaces around each root; `declarations` the named nodes of its outline.
    """

    file: SourceFile
    source: SourceText
    parsed: ParsedFile
    chunks: tuple[Chunk, ...]
    spans: tuple[Span, ...]
    roots: tuple[Root, ...]
    links: FileLinks
    head: tuple[Span, ...]
    spaces: tuple[tuple[Space, ...], ...]
    declarations: Outline
    unlabelled: int


@uncollected
def analyse(file: SourceFile, source: SourceText, parsed: ParsedFile) -> tuple[FileFacts, NDArray[np.void]]:
    """Facts of one file, and its painted characters (paint.CHAR_DTYPE, one per character of its text)."""
    code = source.code
    lexed = lex(code)
    outline = outline_file(code, lexed, parsed)
    nodes, cursors = outline.nodes, parsed.cursors
    uses = NO_USES if cursors is None else invocations(lexed, cursors)
    table = symbol_table(parsed.symbols)
    painted = paint_file(source, lexed, outline, cursors, table)
    cut = chunk_file(code, lexed, outline)
    links = no_links() if cursors is None else file_links(code, cut.chunks, cursors, table)
    facts = FileFacts(
        file=file,
        source=source,
        parsed=parsed,
        chunks=cut.chunks,
        spans=tuple(_in_chars(source, [(chunk.start, chunk.end) for chunk in cut.chunks])),
        roots=cut.roots,
        links=links,
        head=tuple(_in_chars(source, _head(code, lexed, nodes))),
        spaces=tuple(_around(_spaces(source, nodes, uses), [cut.chunks[root.first].start for root in cut.roots])),
        declarations=nodes.take((nodes.name != "") & (nodes.role != Role.NAMESPACE)),
        unlabelled=painted.unlabelled,
    )
    return facts, painted.chars


def _head(code: bytes, lexed: Lexed, outline: Outline) -> list[tuple[int, int]]:
    """Include lines and using-declarations; neighbours with only space between them are one range."""
    directives = zip(lexed.directives.tolist(), lexed.names, strict=True)
    ranges = [(start, end) for (start, end), name in directives if name in _HEAD_DIRECTIVES]
    ranges += [(node.start, node.end) for node in outline.take(outline.role == Role.USING)]
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and not code[merged[-1][1] : start].strip():
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _spaces(source: SourceText, outline: Outline, uses: NDArray[np.int64]) -> list[Space]:
    """The namespaces of the file by their openings; `uses` are the ranges of its macro invocations."""
    nodes = list(outline.take(outline.role == Role.NAMESPACE))
    macros, closers = dict(uses.tolist()), dict(uses[:, ::-1].tolist())
    starts = {node.start for node in nodes}
    found: dict[int, tuple[Node, Node]] = {}
    for node in nodes:
        end = opening_end(source.code, node, macros, starts)
        found[end] = (found.get(end, (node,))[0], node)
    openings = _in_chars(source, [(outer.start, end) for end, (outer, _) in found.items()])
    closings = _in_chars(source, [_closing(source.code, *pair, closers) for pair in found.values()])
    inner = (node for _, node in found.values())
    return [
        Space(opening, closing, node.end, node.name)
        for node, opening, closing in zip(inner, openings, closings, strict=True)
    ]


def _closing(code: bytes, outer: Node, inner: Node, closers: Mapping[int, int]) -> tuple[int, int]:
    """What closes both of two namespaces that one text opens."""
    return min(closing_start(code, node, closers) for node in (outer, inner)), outer.end


def _around(spaces: Sequence[Space], offsets: Sequence[int]) -> Iterator[tuple[Space, ...]]:
    """The spaces around each of the ascending `offsets`; one sweep over both."""
    inside: list[Space] = []
    number = 0
    for offset in offsets:
        while number < len(spaces) and spaces[number].opening.end <= offset:
            inside = [space for space in inside if space.end > spaces[number].opening.start]
            inside.append(spaces[number])
            number += 1
        inside = [space for space in inside if space.end > offset]
        yield tuple(inside[-_SPACES:])


def _in_chars(source: SourceText, ranges: Sequence[tuple[int, int]]) -> list[Span]:
    if source.is_ascii:
        return [Span(start, end, start, end) for start, end in ranges]
    places = source.chars(np.array(ranges, dtype=np.int64).reshape(-1, 2)).tolist()
    return [Span(*range_, *place) for range_, place in zip(ranges, places, strict=True)]
