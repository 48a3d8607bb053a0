"""What is shown of a row or a document: documents of pieces, with the chunks and edges between them."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE, STRUCTURE_CATEGORIES, SYNTHETIC_ROLE
from megacpp_assets.contract.platforms import platforms
from megacpp_assets.viewing.neutral import neutral

ROLE_NAMES = {ROOT_ROLE: "root", CONTEXT_ROLE: "context", SYNTHETIC_ROLE: "of no file"}

Decode = Callable[[Sequence[int]], bytes]


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of neighbouring tokens of one category and one role, safe to draw."""

    text: str
    category: str
    role: int


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
        documents.append(_document(named, row, c.INPUT_IDS, slice(start, start + tokens), decode))
        start += tokens
    return _shown(title, documents, row[c.SLACK_TOKENS], row)


def shown_document(title: str, row: dict[str, Any], decode: Decode) -> Shown:
    """An enriched document."""
    told = ", ".join(str(platforms().by_id[each]) for each in row[c.PLATFORM_IDS]) or "no platform"
    named = neutral(f"{row[c.DOC_ID]}: {row[c.FILEPATH]} ({row[c.LICENSE]}, {row[c.SPLIT]}; {told})")
    whole = slice(0, row[c.ACTUAL_TOKEN_COUNT])
    return _shown(title, [_document(named, row, c.TOKEN_IDS_COLUMN, whole, decode)], 0, row)


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


def _document(title: str, row: dict[str, Any], ids: str, part: slice, decode: Decode) -> ShownDocument:
    tokens = row[ids][part]
    styles = zip(row[c.TOKEN_STRUCTURE_IDS_COLUMN][part], row[c.TOKEN_ROLES_COLUMN][part], strict=True)
    return ShownDocument(title, len(tokens), tuple(_pieces(tokens, list(styles), decode)))


def _pieces(ids: Sequence[int], styles: Sequence[tuple[int, int]], decode: Decode) -> Iterator[Piece]:
    """A character that several tokens share is of the last of them; what is no text is a replacement character."""
    decoder, place = codecs.getincrementaldecoder("utf-8")("replace"), 0
    for (category, role), run in groupby(styles):
        end = place + sum(1 for _ in run)
        text = neutral(decoder.decode(decode(ids[place:end]), final=end == len(ids)))
        place = end
        if text:
            yield Piece(text, STRUCTURE_CATEGORIES[category], role)
