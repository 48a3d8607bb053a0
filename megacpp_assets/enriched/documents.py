"""Enriches single documents (docs/contracts.md): a character-level document comes in, a token-level one comes out.

Each function is a step of `materialize_table` for one document, on plain lists, under the name that seed 001 or 004
gives it. Tests compare them with the seed; the stage calls `materialize_table` only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Final, NamedTuple, TypedDict

import numpy as np
import pyarrow as pa

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import CHANGE_TYPES, CHAR_TYPES, CHUNK_BOUNDARY, TOKENIZED
from megacpp_assets.contract.tokens.encoding import TextEncoder
from megacpp_assets.enriched.chunks import LOST, TokenChunks, token_chunks, token_dep_levels, token_edges
from megacpp_assets.enriched.first_character import first_characters
from megacpp_assets.enriched.materialize import materialize_table
from megacpp_assets.enriched.spans import Spans
from megacpp_assets.storage.ragged import Ragged

_SPAN_COLUMNS: Final = (c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS)
_TOKEN_COLUMNS: Final = (c.TOKEN_IDS_COLUMN, *_SPAN_COLUMNS, c.ACTUAL_TOKEN_COUNT)
_GIVEN: Final = (c.TEXT, *CHAR_TYPES, c.CHUNK_BOUNDARIES, c.CALL_EDGES, c.TYPE_EDGES)
_MADE: Final = (
    c.TOKEN_IDS_COLUMN, *c.TOKEN_METADATA_COLUMNS, *c.PACKED_ROWS_CHUNK_METADATA_COLUMNS, c.ACTUAL_TOKEN_COUNT,
)  # fmt: skip

Span = tuple[int, int]
"""Half-open range of characters or of tokens."""


class TokenChunk(TypedDict):
    """A chunk over tokens [start, end); `kind` is the id of a structure category."""

    start: int
    end: int
    kind: int
    dep_level: int


TokenEdge = TypedDict("TokenEdge", {"from": int, "to": int})
"""An edge between two chunks of a document, by index."""


class TokenOffsets(NamedTuple):
    """The token chunks of a document, and for each input chunk the index of its token chunk, None if it was lost."""

    chunks: list[TokenChunk]
    index_of: list[int | None]


def materialize_tokenized_enriched_batch(
    docs: Sequence[Mapping[str, Any]], tokenizer: TextEncoder
) -> list[dict[str, Any]]:
    """Encode documents and bring their character-level metadata to tokens: one value per token, BOS first.

    A document has `text`, the columns of `schemas.CHAR_TYPES` (one value per character, or none), `chunk_boundaries`,
    `call_edges` and `type_edges`; the columns of `schemas.CHANGE_TYPES` may be absent; what else it has is ignored.
    Raises `SchemaViolation` for a document that lacks one of the others, for a tokenizer that gives no character
    spans, and for metadata that does not fit its text.
    """
    encoded = tokenizer.encode_arrow(pa.array([_required(doc, number, c.TEXT) for number, doc in enumerate(docs)]))
    lists = (encoded.ids, encoded.char_starts, encoded.char_ends)
    for name, values in zip(_SPAN_COLUMNS, lists[1:], strict=True):
        if not isinstance(values, pa.ListArray) or not values.value_lengths().equals(encoded.ids.value_lengths()):
            raise SchemaViolation(
                "tokenizer without spans", expected=f"{name} for every token", found=values, do="use one that has them"
            )
    columns = dict(zip(_TOKEN_COLUMNS, (*lists, encoded.ids.value_lengths()), strict=True))
    arrays = [
        columns[field.name] if field.name in columns else _column(docs, field)
        for field in TOKENIZED
    ]  # fmt: skip
    table = materialize_table(pa.Table.from_arrays(arrays, schema=TOKENIZED))
    made: list[dict[str, Any]] = table.select(list(_MADE)).to_pylist()
    return made


def _required(doc: Mapping[str, Any], number: int, name: str) -> Any:
    if name not in doc:
        raise SchemaViolation(
            f"document {number} of a batch", expected=f"the key {name}", found=sorted(doc), do="rerun semantic_jsonl"
        )
    return doc[name]


def _column(docs: Sequence[Mapping[str, Any]], field: pa.Field) -> pa.Array:
    """Return a character-level column of the documents. Provenance columns are filled with placeholders."""
    if field.name == c.DOC_ID:
        return pa.array([f"{number} of a batch" for number in range(len(docs))])
    if field.name in CHANGE_TYPES:
        return pa.array([doc.get(field.name, []) for doc in docs], field.type)
    if field.name not in _GIVEN:
        return pa.nulls(len(docs), field.type)
    try:
        return pa.array([_required(doc, number, field.name) for number, doc in enumerate(docs)], field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise SchemaViolation(f"documents, key {field.name}", expected=field.type, found=error) from error


def _chars_to_tokens_structure_ids(values: Sequence[int], spans: Sequence[Any]) -> list[int]:
    """Return the value of each token's first character; 0 if the token covers no character or begins after `values`."""
    if not _is_token_value_sequence(values):
        raise SchemaViolation("character values", expected="a sequence of whole numbers", found=repr(values)[:80])
    chars = np.asarray(values, dtype=np.int64)
    made: list[int] = first_characters(Ragged(np.array([0, len(chars)]), chars), _spans(spans)).values(chars).tolist()
    return made


def _chunk_boundaries_to_token_offsets(boundaries: Sequence[Mapping[str, Any]], spans: Sequence[Any]) -> TokenOffsets:
    """Convert chunks to token spans by the rule of `enriched.chunks`.

    Raises `SchemaViolation` if a chunk overlaps no token.
    """
    whole = [{name: chunk.get(name) for name in CHUNK_BOUNDARY.names} for chunk in boundaries]
    given = Ragged(np.array([0, len(whole)]), pa.array(whole, CHUNK_BOUNDARY))
    made = token_chunks(given, _spans(spans))
    columns = (made.starts, made.ends, made.kinds, made.dep_levels)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    chunks = [TokenChunk(start=start, end=end, kind=kind, dep_level=level) for start, end, kind, level in rows]
    return TokenOffsets(chunks, [None if index == LOST else index for index in made.index_of.tolist()])


def _compute_token_dep_levels(chunks: Sequence[TokenChunk], tokens: int) -> list[int]:
    """Return, per token, the level of the last chunk that starts at or before it; 0 before the first chunk."""
    made: list[int] = token_dep_levels(_token_chunks(chunks), _spans([(0, 0)] * tokens)).tolist()
    return made


def _remap_token_edges(edges: Sequence[Span], index_of: Sequence[int | None]) -> list[TokenEdge]:
    """Convert edges between input chunks to edges between token chunks. Edges of a lost chunk are dropped."""
    given = Ragged(np.array([0, len(edges)]), pa.array([{"from": a, "to": b} for a, b in edges], _EDGE))
    made = token_edges(given, ("from", "to"), _token_chunks([], index_of)).values.tolist()
    return [{"from": start, "to": end} for start, end in made]


def _is_token_value_sequence(values: object) -> bool:
    """Return whether `values` is a sequence of whole numbers, such as a column of token values."""
    if isinstance(values, np.ndarray):
        return values.ndim == 1 and values.dtype.kind in "iu"
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        return False
    return all(isinstance(value, Integral) and not isinstance(value, bool) for value in values)


def _extract_span_bounds(span: object) -> Span:
    """Return (start, end) of a mapping with these keys or of a sequence of two. Raises `SchemaViolation` otherwise."""
    bounds: object = span
    if isinstance(span, Mapping):
        bounds = [span.get("start"), span.get("end")]
    if not isinstance(bounds, Sequence) or len(bounds) != 2 or not _is_token_value_sequence(bounds):
        raise SchemaViolation("span", expected="start and end, as a mapping or as two numbers", found=repr(span)[:80])
    return int(bounds[0]), int(bounds[1])


_EDGE: Final = pa.struct([("from", pa.int32()), ("to", pa.int32())])


def _spans(spans: Sequence[Any]) -> Spans:
    """Return the spans of the tokens of one document."""
    bounds = np.array([_extract_span_bounds(span) for span in spans], dtype=np.int64).reshape(-1, 2)
    starts, ends = bounds.T
    misfits = (starts < 0) | (starts > ends)
    misfits[1:] |= (np.diff(starts) < 0) | (np.diff(ends) < 0)
    if misfits.any():
        found = spans[int(misfits.argmax())]
        raise SchemaViolation("spans that do not align", expected="0 <= start <= end, rising", found=found)
    offsets = np.array([0, len(spans)])
    return Spans(offsets, starts, ends, ends.max(initial=0, keepdims=True))


def _token_chunks(chunks: Sequence[TokenChunk], index_of: Sequence[int | None] = ()) -> TokenChunks:
    columns = np.array([list(chunk.values()) for chunk in chunks], dtype=np.int64).reshape(-1, 4)
    places = np.array([LOST if index is None else index for index in index_of], dtype=np.int64)
    return TokenChunks(
        offsets=np.array([0, len(chunks)]),
        starts=columns[:, 0],
        ends=columns[:, 1],
        kinds=columns[:, 2].astype(np.uint8),
        dep_levels=columns[:, 3].astype(np.uint16),
        index_of=places,
        input_offsets=np.array([0, len(places)]),
    )
