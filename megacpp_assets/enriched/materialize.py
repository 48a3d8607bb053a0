"""Converts token parquet to enriched parquet: character-level columns become token-level ones, text is unchanged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.schemas import CHANGE_TYPES, CHAR_TYPES, ENRICHED, TOKEN_EDGE
from megacpp_assets.enriched.chunks import TokenChunks, token_chunks, token_dep_levels, token_edges
from megacpp_assets.enriched.first_character import FirstCharacters, first_characters
from megacpp_assets.enriched.spans import Spans, token_spans
from megacpp_assets.storage.ragged import Ragged, list_array, ragged

_EDGES = {
    c.TOKEN_CALL_EDGES_COLUMN: (c.CALL_EDGES, ("caller_idx", "callee_idx")),
    c.TOKEN_TYPE_EDGES_COLUMN: (c.TYPE_EDGES, ("user_idx", "type_idx")),
}
"""Token edge column -> (source column, its fields that become `from` and `to`)."""


def materialize_table(table: pa.Table) -> pa.Table:
    """Return a table of `schemas.TOKENIZED` as a table of `schemas.ENRICHED`, rows in the same order.

    Raises `SchemaViolation` for the legacy character-level format, for tokens without spans, and for spans, chunks or
    edges that do not fit their document.
    """
    spans = token_spans(table)
    chunks = token_chunks(ragged(table, c.CHUNK_BOUNDARIES), spans)
    columns = {
        **_char_columns(table, spans),
        **_change_columns(table, spans),
        c.TOKEN_DEP_LEVELS_COLUMN: list_array(spans.offsets, pa.array(token_dep_levels(chunks, spans))),
        **_chunk_columns(chunks),
        **{name: _edge_column(table, name, chunks) for name in _EDGES},
    }
    arrays = [columns[name] if name in columns else table[name] for name in ENRICHED.names]
    return pa.Table.from_arrays(arrays, schema=ENRICHED)


def _char_columns(table: pa.Table, spans: Spans) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {}
    first: FirstCharacters | None = None
    for name, kind in CHAR_TYPES.items():
        chars = ragged(table, name)
        if first is None or not np.array_equal(first.offsets, chars.offsets):
            first = first_characters(chars, spans)
        columns[c.TOKEN_OF_CHAR[name]] = list_array(spans.offsets, pa.array(first.values(chars.values), kind))
    return columns


def _change_columns(table: pa.Table, spans: Spans) -> dict[str, pa.Array]:
    """Return the change columns of tokens. A document without changes has the fill values."""
    first: FirstCharacters | None = None
    columns: dict[str, pa.Array] = {}
    for name, kind in CHANGE_TYPES.items():
        chars, token_name = ragged(table, name), c.TOKEN_OF_CHANGE[name]
        first = first or first_characters(chars, spans)
        fill = c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[token_name]
        columns[token_name] = list_array(spans.offsets, pa.array(first.values(chars.values, fill), kind))
    return columns


def _chunk_columns(chunks: TokenChunks) -> dict[str, pa.Array]:
    return {
        c.TOKEN_CHUNK_STARTS_COLUMN: list_array(chunks.offsets, pa.array(chunks.starts.astype(np.uint32))),
        c.TOKEN_CHUNK_ENDS_COLUMN: list_array(chunks.offsets, pa.array(chunks.ends.astype(np.uint32))),
        c.TOKEN_CHUNK_KINDS_COLUMN: list_array(chunks.offsets, pa.array(chunks.kinds)),
        c.TOKEN_CHUNK_DEP_LEVELS_COLUMN: list_array(chunks.offsets, pa.array(chunks.dep_levels)),
    }


def _edge_column(table: pa.Table, name: str, chunks: TokenChunks) -> pa.Array:
    source, ends = _EDGES[name]
    edges = token_edges(ragged(table, source), ends, chunks)
    pairs = [pa.array(np.ascontiguousarray(edges.values[:, side])) for side in (0, 1)]
    return list_array(edges.offsets, pa.StructArray.from_arrays(pairs, fields=list(TOKEN_EDGE)))


def has_materialized_token_metadata(table: pa.Table) -> bool:
    """Return whether `table` is enriched and complete.

    It has the schema `schemas.ENRICHED`. Every per-token column is as long as the token ids. Chunk spans are inside the
    document, with strictly increasing starts. Edges are between existing chunks."""
    if table.schema != ENRICHED:
        return False
    tokens = table[c.ACTUAL_TOKEN_COUNT].to_numpy()
    per_token = (ragged(table, name) for name in (c.TOKEN_IDS_COLUMN, *c.TOKEN_METADATA_COLUMNS))
    return all(np.array_equal(column.lengths, tokens) for column in per_token) and _chunks_are_whole(table, tokens)


def _chunks_are_whole(table: pa.Table, tokens: np.ndarray) -> bool:
    chunk_columns = (
        c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN, c.TOKEN_CHUNK_KINDS_COLUMN,
        c.TOKEN_CHUNK_DEP_LEVELS_COLUMN,
    )  # fmt: skip
    starts, ends, *others = (ragged(table, name) for name in chunk_columns)
    if not all(np.array_equal(starts.offsets, other.offsets) for other in (ends, *others)):
        return False
    first, last = starts.values.astype(np.int64), ends.values.astype(np.int64)
    increases = np.append(True, np.diff(first) > 0) if len(first) else np.ones(0, dtype=np.bool_)
    inside = (first < last) & (last <= tokens[starts.owner]) & (increases | (starts.position == 0))
    return bool(inside.all()) and all(_edges_inside(ragged(table, name), starts.lengths) for name in _EDGES)


def _edges_inside(edges: Ragged, chunk_counts: np.ndarray) -> bool:
    limit = chunk_counts[edges.owner]
    return all(bool((edges.values.field(side).to_numpy() < limit).all()) for side in (0, 1))
