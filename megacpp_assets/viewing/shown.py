"""The content of a view of a row or document: documents as coloured pieces, chunks, and edges between chunks."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE, STRUCTURE_CATEGORIES, SYNTHETIC_ROLE, UNCHANGED_OP
from megacpp_assets.contract.platforms import platforms
from megacpp_assets.viewing.neutral import neutral

ROLE_NAMES = {ROOT_ROLE: "root", CONTEXT_ROLE: "context", SYNTHETIC_ROLE: "of no file"}

Decode = Callable[[Sequence[int]], bytes]
_TextOf = Callable[[int, int], str]
"""A function that returns the text of tokens [start, end) and is called in order.

A character that several tokens share belongs to the last of them.
"""


@dataclass(frozen=True, slots=True)
class TextRun:
    """Text of consecutive tokens with the same category, role and edit operation. It is safe to draw."""

    text: str
    category: str
    role: int
    edit: int = UNCHANGED_OP


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document of a view. `title` names it; `tokens` includes its BOS."""

    title: str
    tokens: int
    pieces: tuple[TextRun, ...]


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """A chunk: its tokens [start, end) of the row or document, its category, and its dependency level."""

    start: int
    end: int
    kind: str
    level: int


@dataclass(frozen=True, slots=True)
class TokenView:
    """The view of a row or document. Edges are pairs of indices in `chunks`: (caller, callee) and (user, type)."""

    title: str
    documents: tuple[ShownDocument, ...]
    pads: int
    chunks: tuple[ShownChunk, ...]
    calls: tuple[tuple[int, int], ...]
    types: tuple[tuple[int, int], ...]


def shown_row(title: str, row: dict[str, Any], decode: Decode) -> TokenView:
    """Return the view of a packed row: its documents in order, each with its repository, then the padding."""
    documents, start = [], 0
    sources = zip(row[c.SOURCE_REPOS], row[c.SOURCE_DOC_IDS], row[c.SOURCE_DOC_TOKEN_LENGTHS], strict=True)
    for number, (repo, doc_id, tokens) in enumerate(sources):
        named = neutral(f"document {number} of {row[c.NUM_DOCS]}: {repo} {doc_id}")
        ids = row[c.INPUT_IDS][start : start + tokens]
        documents.append(_document(named, row, slice(start, start + tokens), _decoded(ids, decode)))
        start += tokens
    return _shown(title, documents, row[c.SLACK_TOKENS], row)


def shown_document(title: str, row: dict[str, Any], starts: Sequence[int]) -> TokenView:
    """Return the view of an enriched document. `starts` has the first character of each token."""
    platform_names = ", ".join(str(platforms().by_id[each]) for each in row[c.PLATFORM_IDS]) or "no platform"
    place = f"{row[c.FILEPATH]} at {row[c.COMMIT]}"
    named = neutral(f"{row[c.DOC_ID]}: {place} ({row[c.LICENSE]}, {row[c.SPLIT]}; {platform_names})")
    whole = slice(0, row[c.ACTUAL_TOKEN_COUNT])
    return _shown(title, [_document(named, row, whole, _spanned(row[c.TEXT], starts))], 0, row)


def _shown(title: str, documents: Sequence[ShownDocument], pads: int, row: dict[str, Any]) -> TokenView:
    names = (
        c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN, c.TOKEN_CHUNK_KINDS_COLUMN,
        c.TOKEN_CHUNK_DEP_LEVELS_COLUMN,
    )  # fmt: skip
    chunks = (
        ShownChunk(start, end, STRUCTURE_CATEGORIES[kind], level)
        for start, end, kind, level in zip(*(row[name] for name in names), strict=True)
    )
    edges = (tuple((each["from"], each["to"]) for each in row[name]) for name in _EDGES)
    return TokenView(title, tuple(documents), pads, tuple(chunks), *edges)


_EDGES = (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN)


def _document(title: str, row: dict[str, Any], part: slice, text_of: _TextOf) -> ShownDocument:
    names = (c.TOKEN_STRUCTURE_IDS_COLUMN, c.TOKEN_ROLES_COLUMN, c.EDIT_OP_PER_TOKEN_COLUMN)
    styles = zip(*(row[name][part] for name in names), strict=True)
    return ShownDocument(title, part.stop - part.start, tuple(_pieces(styles, text_of)))


def _pieces(styles: Iterable[tuple[int, int, int]], text_of: _TextOf) -> Iterator[TextRun]:
    place = 0
    for (category, role, edit), run in groupby(styles):
        end = place + sum(1 for _ in run)
        text = neutral(text_of(place, end))
        place = end
        if text:
            yield TextRun(text, STRUCTURE_CATEGORIES[category], role, edit)


def _decoded(ids: Sequence[int], decode: Decode) -> _TextOf:
    """Return a function that decodes tokens to text. Bytes that are not UTF-8 become replacement characters."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return lambda start, end: decoder.decode(decode(ids[start:end]), final=end == len(ids))


def _spanned(text: str, starts: Sequence[int]) -> _TextOf:
    bounds = [*starts, len(text)]
    return lambda start, end: text[bounds[start] : bounds[end]]
