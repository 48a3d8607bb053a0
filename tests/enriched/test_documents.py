"""The functions for one document give what the vectorised code of the stage gives for a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import CHAR_TYPES
from megacpp_assets.contract.tokens.encoding import EncodedLists
from megacpp_assets.enriched.documents import (
    _chars_to_tokens_structure_ids,
    _chunk_boundaries_to_token_offsets,
    _compute_token_dep_levels,
    _extract_span_bounds,
    _is_token_value_sequence,
    _remap_token_edges,
    materialize_tokenized_enriched_batch,
)
from megacpp_assets.tokenized.encode import tokenize
from megacpp_assets.tokenized.records import documents_table
from megacpp_assets.tokenized.split import DocumentLimits
from tests.enriched.slow_twin import enrich, first_character
from tests.tokenized.documents import call_edge, record, records
from tests.tokenized.word_encoder import WordEncoder


def _tokenized(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tokenize(
        documents_table(documents), WordEncoder(), DocumentLimits(4096, 128)
    ).table.to_pylist()
    return rows


@given(st.lists(records(nested=True), max_size=4))
def test_documents_are_enriched_as_the_slow_twin_says(documents: list[dict[str, Any]]) -> None:
    for made, row in zip(
        materialize_tokenized_enriched_batch(documents, WordEncoder()), _tokenized(documents), strict=True
    ):
        expected = enrich(row)
        assert made == {name: expected[name] for name in made}
        assert {*c.TOKEN_METADATA_COLUMNS, *c.PACKED_ROWS_CHUNK_METADATA_COLUMNS, c.TOKEN_IDS_COLUMN} <= made.keys()


@given(records(nested=True))
def test_the_steps_by_name_give_what_the_whole_does(document: dict[str, Any]) -> None:
    (row,) = _tokenized([document])
    (made,) = materialize_tokenized_enriched_batch([document], WordEncoder())
    spans = list(zip(row[c.TOKEN_CHAR_STARTS], row[c.TOKEN_CHAR_ENDS], strict=True))
    for name in CHAR_TYPES:
        assert _chars_to_tokens_structure_ids(document[name], spans) == made[c.TOKEN_OF_CHAR[name]]
    chunks, index_of = _chunk_boundaries_to_token_offsets(document[c.CHUNK_BOUNDARIES], spans)
    assert [chunk["start"] for chunk in chunks] == made[c.TOKEN_CHUNK_STARTS_COLUMN]
    assert [chunk["end"] for chunk in chunks] == made[c.TOKEN_CHUNK_ENDS_COLUMN]
    assert _compute_token_dep_levels(chunks, len(spans)) == made[c.TOKEN_DEP_LEVELS_COLUMN]
    calls = [(edge["caller_idx"], edge["callee_idx"]) for edge in document[c.CALL_EDGES]]
    assert _remap_token_edges(calls, index_of) == made[c.TOKEN_CALL_EDGES_COLUMN]


@given(st.lists(st.integers(0, 9), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_values_shorter_than_the_text_are_zero_beyond_their_end(values: list[int], widths: list[int]) -> None:
    ends = np.cumsum(widths, dtype=int).tolist()
    starts = [end - width for end, width in zip(ends, widths, strict=True)]
    made = _chars_to_tokens_structure_ids(values, list(zip(starts, ends, strict=True)))
    assert made == first_character(values, starts, ends)


def test_an_outer_chunk_ends_after_the_inner_one_that_begins_later() -> None:
    boundaries = record("d", "class A { f }", [(0, 13), (10, 11)])[c.CHUNK_BOUNDARIES]
    spans = [(0, 0), (0, 5), (6, 7), (8, 9), (10, 11), (12, 13)]
    chunks = _chunk_boundaries_to_token_offsets(boundaries, spans).chunks
    assert [(chunk["start"], chunk["end"]) for chunk in chunks] == [(1, 6), (4, 5)]


def test_a_token_that_two_chunks_share_is_the_first_ones_and_a_chunk_without_any_is_lost_with_its_edges() -> None:
    boundaries = record("d", "identifier x", [(0, 4), (4, 10), (11, 12)])[c.CHUNK_BOUNDARIES]
    chunks, index_of = _chunk_boundaries_to_token_offsets(boundaries, [(0, 0), (0, 10), (11, 12)])
    assert ([chunk["start"] for chunk in chunks], index_of) == ([1, 2], [0, None, 1])
    assert _remap_token_edges([(0, 1), (2, 0)], index_of) == [{"from": 1, "to": 0}]


@pytest.mark.parametrize("span", [{"start": 1, "end": 3}, (1, 3), [1, 3], np.array([1, 3]).tolist()])
def test_a_span_is_a_mapping_or_two_numbers(span: object) -> None:
    assert _extract_span_bounds(span) == (1, 3)


@pytest.mark.parametrize("span", [{"start": 1}, (1, 2, 3), "ab", (1.0, 2), None])
def test_anything_else_is_no_span(span: object) -> None:
    with pytest.raises(SchemaViolation, match="start and end"):
        _extract_span_bounds(span)


@pytest.mark.parametrize(
    ("values", "holds"),
    [([1, 2], True), ((), True), (np.arange(3), True), ("12", False), ([1.0], False), ([True], False), (None, False),
     (np.zeros((2, 2), int), False)],
)  # fmt: skip
def test_token_values_are_whole_numbers_in_a_row(values: object, holds: bool) -> None:
    assert _is_token_value_sequence(values) is holds


class _WithoutSpans(WordEncoder):
    def encode_arrow(self, texts: pa.Array | pa.ChunkedArray) -> EncodedLists:
        encoded = super().encode_arrow(texts)
        nothing = pa.array([[] for _ in encoded.ids], encoded.char_starts.type)
        return EncodedLists(encoded.ids, nothing, nothing)


def test_a_tokenizer_without_spans_is_rejected() -> None:
    with pytest.raises(SchemaViolation, match="tokenizer without spans"):
        materialize_tokenized_enriched_batch([record("d", "int x")], _WithoutSpans())


def test_a_document_that_lacks_its_metadata_is_rejected_by_key() -> None:
    document = record("d", "int x")
    del document[c.CHUNK_BOUNDARIES]
    with pytest.raises(SchemaViolation, match="document 0 of a batch; expected the key chunk_boundaries"):
        materialize_tokenized_enriched_batch([document], WordEncoder())


def test_an_edge_to_no_chunk_is_rejected() -> None:
    document = record("d", "int x", [(0, 5)], call_edges=[call_edge(0, 1)])
    with pytest.raises(SchemaViolation, match="chunk count"):
        materialize_tokenized_enriched_batch([document], WordEncoder())
