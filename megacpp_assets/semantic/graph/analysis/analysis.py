"""Analyses one file: lexes it, makes its outline, labels its characters, cuts it into chunks and links them.

It is a pure function: bytes and cursors in, facts and labelled characters out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.gc_disabled import gc_disabled
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.graph.chunks import Chunk, Root, chunk_file
from megacpp_assets.semantic.graph.link import FileLinks, file_links, no_links
from megacpp_assets.semantic.graph.signatures import NO_SIGNATURE, signatures_of
from megacpp_assets.semantic.graph.spaces import Space, Span, around, spaces_of, spans_of
from megacpp_assets.semantic.graph.symbol_rows import Entities, entities_of
from megacpp_assets.semantic.labels.paint import paint_file
from megacpp_assets.semantic.labels.symbol_names import symbol_table
from megacpp_assets.semantic.outline.file_outline import outline_file
from megacpp_assets.semantic.outline.lexer import Lexed, lex
from megacpp_assets.semantic.outline.macros import NO_USES, invocations
from megacpp_assets.semantic.outline.nodes import Outline, Role
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.tree.text import SourceText

_INCLUDES = frozenset({"include", "include_next", "import"})


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts of a file from which documents and tables are made.

    `chunks`, their `spans` and `signatures` (None if a chunk has none), `roots` and their `root_spans` are in file
    order. `includes` are the include directives that the preprocessor did not drop, ascending. `spaces` are the
    innermost namespaces around each root, at most eight.
    """

    file: SourceFile
    source: SourceText
    parsed: ParsedFile
    chunks: tuple[Chunk, ...]
    spans: tuple[Span, ...]
    signatures: tuple[Span | None, ...]
    roots: tuple[Root, ...]
    root_spans: tuple[Span, ...]
    links: FileLinks
    includes: tuple[Span, ...]
    spaces: tuple[tuple[Space, ...], ...]
    entities: Entities
    unlabelled: int


@gc_disabled
def analyse(file: SourceFile, source: SourceText, parsed: ParsedFile) -> tuple[FileFacts, NDArray[np.void]]:
    """Return the facts of one file and its labelled characters (paint.CHAR_DTYPE, one per character of its text)."""
    code = source.data
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
        spans=tuple(spans_of(source, [(chunk.start, chunk.end) for chunk in cut.chunks])),
        signatures=tuple(_signatures(source, lexed, nodes, cut.chunks)),
        roots=cut.roots,
        root_spans=tuple(spans_of(source, [(root.start, root.end) for root in cut.roots])),
        links=links,
        includes=tuple(spans_of(source, _includes(lexed, parsed.skipped_ranges))),
        spaces=tuple(around(spaces_of(source, nodes, uses), [cut.chunks[root.first].start for root in cut.roots])),
        entities=entities_of(nodes.take((nodes.name != "") & (nodes.role != Role.NAMESPACE)), parsed),
        unlabelled=painted.unlabelled,
    )
    return facts, painted.chars


def is_c(facts: FileFacts) -> bool:
    """Return whether a file is C: by the language standard of its parse, or by its name if there is none."""
    standard = facts.parsed.standard
    return "++" not in standard if standard else facts.file.language == "c"


def unparsed_chunks(facts: FileFacts) -> Iterator[int]:
    """Yield the chunks of a file that begin in dropped text; all chunks if the parse failed."""
    if facts.parsed.status == "failed":
        yield from range(len(facts.chunks))
        return
    ranges = sorted(facts.parsed.skipped_ranges)
    for number, chunk in enumerate(facts.chunks):
        place = bisect_right(ranges, (chunk.start, len(facts.source.data))) - 1
        if place >= 0 and chunk.start < ranges[place][1]:
            yield number


def _includes(lexed: Lexed, dropped: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the include directives outside of dropped ranges. Dropped ones are mostly for other platforms."""
    starts, ends = np.array(sorted(dropped), dtype=np.int64).reshape(-1, 2).T
    seen = np.searchsorted(starts, lexed.directives[:, 0], side="right") == np.searchsorted(
        ends, lexed.directives[:, 0]
    )
    directives = zip(lexed.directives.tolist(), lexed.names, seen.tolist(), strict=True)
    return [(start, end) for (start, end), name, kept in directives if kept and name in _INCLUDES]


def _signatures(source: SourceText, lexed: Lexed, nodes: Outline, chunks: Sequence[Chunk]) -> Iterator[Span | None]:
    ranges = signatures_of(source.data, lexed, nodes, chunks)
    spans = iter(spans_of(source, [range_ for range_ in ranges if range_ != NO_SIGNATURE]))
    return (None if range_ == NO_SIGNATURE else next(spans) for range_ in ranges)
