"""One file through all layers: lexed, outlined, painted, cut into chunks, linked.

Pure: bytes and cursors in, facts and painted characters out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.source_file import SourceFile
from megacpp_assets.semantic.chunks import Chunk, Root, chunk_file
from megacpp_assets.semantic.file_outline import FileOutline, outline_file
from megacpp_assets.semantic.lexer import Lexed, lex
from megacpp_assets.semantic.link import FileLinks, file_links, no_links
from megacpp_assets.semantic.outline import Node, Role
from megacpp_assets.semantic.paint import paint_file
from megacpp_assets.semantic.parsed import ParsedFile
from megacpp_assets.semantic.symbol_names import symbol_table
from megacpp_assets.semantic.text import SourceText

_HEADER_BYTES = 200
_HEAD_DIRECTIVES = frozenset({"include", "include_next", "import"})

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Space:
    """A namespace: its byte range, and where its opening line (`namespace a {`) ends."""

    start: int
    end: int
    header_end: int
    name: str


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What documents and tables need of a file.

    `chunks` and `roots` are in file order; `head` holds byte ranges of includes and using-declarations, ascending;
    `spaces` its namespaces in pre-order; `declarations` the named nodes of its outline.
    """

    file: SourceFile
    source: SourceText
    parsed: ParsedFile
    chunks: tuple[Chunk, ...]
    roots: tuple[Root, ...]
    links: FileLinks
    head: tuple[tuple[int, int], ...]
    spaces: tuple[Space, ...]
    declarations: tuple[Node, ...]
    unlabelled: int


def analyse(file: SourceFile, source: SourceText, parsed: ParsedFile) -> tuple[FileFacts, NDArray[np.void]]:
    """Facts of one file, and its painted characters (paint.CHAR_DTYPE, one per character of its text)."""
    code = source.code
    lexed = lex(code)
    symbols = {symbol.usr: symbol for symbol in parsed.symbols}
    outline = outline_file(code, lexed, parsed, symbols)
    table = symbol_table(parsed.symbols)
    painted = paint_file(source, lexed, outline, parsed.cursors, table)
    cut = chunk_file(code, lexed, outline)
    links = no_links() if parsed.cursors is None else file_links(code, cut.chunks, parsed.cursors, table)
    facts = FileFacts(
        file=file,
        source=source,
        parsed=parsed,
        chunks=cut.chunks,
        roots=cut.roots,
        links=links,
        head=tuple(_head(code, lexed, outline)),
        spaces=tuple(_spaces(code, outline)),
        declarations=tuple(node for node in outline.nodes if node.name and node.role is not Role.NAMESPACE),
        unlabelled=painted.unlabelled,
    )
    return facts, painted.chars


def _head(code: bytes, lexed: Lexed, outline: FileOutline) -> list[tuple[int, int]]:
    """Include lines and using-declarations; neighbours with only space between them are one range."""
    directives = zip(lexed.directives.tolist(), lexed.names, strict=True)
    ranges = [(start, end) for (start, end), name in directives if name in _HEAD_DIRECTIVES]
    ranges += [(node.start, node.end) for node in outline.nodes if node.role is Role.USING]
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and not code[merged[-1][1] : start].strip():
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _spaces(code: bytes, outline: FileOutline) -> list[Space]:
    """Named namespaces with an opening that fits a line or two."""
    found = []
    for node in outline.nodes:
        if node.role is Role.NAMESPACE:
            brace = code.find(b"{", node.start, min(node.end, node.start + _HEADER_BYTES))
            line = code.find(b"\n", node.start, node.end)
            end = brace + 1 if brace >= 0 else (line if line >= 0 else node.end)
            found.append(Space(node.start, node.end, end, node.name))
    return found
