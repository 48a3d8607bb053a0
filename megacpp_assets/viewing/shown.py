"""What is shown of a row or a document: documents of pieces, with the chunks and edges between them."""

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
"""The text of tokens [start, end), asked in order; a character that several tokens share is of the last of them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of neighbouring tokens of one category, one role and one edit operation, safe to draw."""

    text: str
    category: str
    role: int
    edit: int = UNCHANGED_OP


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """`title` says which it is; `tokens` counts its BOS too."""

    title: str
    tokens: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tokens [start, end) of the row or document, a category as kind, and its distance from the roots."""

    start: int
    end: int
    kind: str
    level: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A row or a document; edges are pairs of indices of `chunks`: (caller, callee), (user, type)."""

    title: str
    documents: tuple[ShownDocument, ...]
    pads: int
    chunks: tuple[Chunk, ...]
    calls: tuple[tuple[int, int], ...]
    types: tuple[tuple[int, int], ...]


def shown_row(title: str, row: dict[str, Any], decode: Decode) -> Shown:
    """A packed row: its documents in order, each with the name of its repository, then the pads."""
    documents, start = [], 0
    sources = zip(row[c.SOURCE_REPOS], row[c.SOURCE_DOC_IDS], row[c.SOURCE_DOC_TOKEN_LENGTHS], strict=True)
    for number, (repo, doc_id, tokens) in enumerate(sources):
        named = neutral(f"document {number} of {row[c.NUM_DOCS]}: {repo} {doc_id}")
        ids = row[c.INPUT_IDS][start : start + tokens]
        documents.append(_document(named, row, slice(start, start + tokens), _decoded(ids, decode)))
        start += tokens
    return _shown(title, documents, row[c.SLACK_TOKENS], row)


def shown_document(title: str, row: dict[str, Any], starts: Sequence[int]) -> Shown:
    """An enriched document; `starts` are the characters of its text where its tokens begin."""
    told = ", ".join(str(platforms().by_id[each]) for each in row[c.PLATFORM_IDS]) or "no platform"
    place = f"{row[c.FILEPATH]} at {row[c.COMMIT]}"
    named = neutral(f"{row[c.DOC_ID]}: {place} ({row[c.LICENSE]}, {row[c.SPLIT]}; {told})")
    whole = slice(0, row[c.ACTUAL_TOKEN_COUNT])
    return _shown(title, [_document(named, row, whole, _spanned(row[c.TEXT], starts))], 0, row)


def _shown(title: str, documents: Sequence[ShownDocument], pads: int, row: dict[str, Any]) -> Shown:
    names = (
        c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN, c.TOKEN_CHUNK_KINDS_COLUMN,
        c.TOKEN_CHUNK_DEP_LEVELS_COLUMN,
    )  # fmt: skip
    chunks = (
        Chunk(start, end, STRUCTURE_CATEGORIES[kind], level)
        for start, end, kind, level in zip(*(row[name] for name in names), strict=True)
    )
    edges = (tuple((each["from"], each["to"]) for each in row[name]) for name in _EDGES)
    return Shown(title, tuple(documents), pads, tuple(chunks), *edges)


_EDGES = (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN)


def _document(title: str, row: dict[str, Any], part: slice, text_of: _TextOf) -> ShownDocument:
    names = (c.TOKEN_STRUCTURE_IDS_COLUMN, c.TOKEN_ROLES_COLUMN, c.EDIT_OP_PER_TOKEN_COLUMN)
    styles = zip(*(row[name][part] for name in names), strict=True)
    return ShownDocument(title, part.stop - part.start, tuple(_pieces(styles, text_of)))


def _pieces(styles: Iterable[tuple[int, int, int]], text_of: _TextOf) -> Iterator[Piece]:
    place = 0
    for (category, role, edit), run in groupby(styles):
        end = place + sum(1 for _ in run)
        text = neutral(text_of(place, end))
        place = end
        if text:
            yield Piece(text, STRUCTURE_CATEGORIES[category], role, edit)


def _decoded(ids: Sequence[int], decode: Decode) -> _TextOf:
    """Texts by what tokens say; what is no text is a replacement character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return lambda start, end: decoder.decode(decode(ids[start:end]), final=end == len(ids))


def _spanned(text: str, starts: Sequence[int]) -> _TextOf:
    bounds = [*starts, len(text)]
    return lambda start, end: text[bounds[start] : bounds[end]]
