"""Tests of char -> token materialisation: equality with the slow twin, the rules one by one, and the refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import CATEGORY_ID
from megacpp_assets.contract.schemas import ENRICHED, HEAD_KEYS, TOKENIZED
from megacpp_assets.enriched.materialize import has_materialized_token_metadata, materialize_table
from megacpp_assets.tokenized.encode import tokenize
from megacpp_assets.tokenized.records import documents_table
from megacpp_assets.tokenized.split import DocumentLimits
from tests.enriched.slow_twin import enrich
from tests.tokenized.documents import call_edge, record, records, type_edge
from tests.tokenized.word_encoder import WordEncoder


def tokenized(*documents: dict[str, Any]) -> pa.Table:
    return tokenize(documents_table(documents), WordEncoder(), DocumentLimits(4096, 128)).table


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    index = table.column_names.index(name)
    return table.set_column(index, table.schema.field(name), pa.array(values, table.schema.field(name).type))


def enriched_row(*documents: dict[str, Any]) -> dict[str, Any]:
    return materialize_table(tokenized(*documents)).to_pylist()[0]


@given(st.lists(records(nested=True), max_size=5), st.integers(0, 4))
def test_a_batch_equals_the_slow_twin_row_by_row(documents: list[dict[str, Any]], skipped: int) -> None:
    table = tokenized(*documents).slice(skipped)
    enriched = materialize_table(table)
    assert enriched.to_pylist() == [enrich(row) for row in table.to_pylist()]
    assert has_materialized_token_metadata(enriched)


@given(st.lists(records(), min_size=2, max_size=5))
def test_a_document_is_enriched_alike_whatever_its_neighbours(documents: list[dict[str, Any]]) -> None:
    together = materialize_table(tokenized(*documents)).to_pylist()
    assert together == [enriched_row(document) for document in documents]


def test_a_token_has_the_value_of_its_first_character_and_bos_has_zero() -> None:
    row = enriched_row(record("d", "int x", structure_ids=[3, 4, 5, 6, 7]))
    assert row[c.TOKEN_STRUCTURE_IDS_COLUMN] == [0, 3, 6, 7]


def test_every_byte_token_of_a_character_has_that_character_s_value() -> None:
    row = enriched_row(record("d", "é名", ast_depth=[3, 9]))
    assert row[c.TOKEN_AST_DEPTH_COLUMN] == [0, 3, 3, 9, 9, 9]


def test_a_token_that_covers_no_character_has_zero() -> None:
    table = with_column(tokenized(record("d", "int x", ast_depth=[9] * 5)), c.TOKEN_CHAR_STARTS, [[0, 0, 4, 4]])
    assert materialize_table(table)[c.TOKEN_AST_DEPTH_COLUMN].to_pylist() == [[0, 9, 0, 9]]


def test_an_empty_source_array_gives_zeros() -> None:
    table = with_column(tokenized(record("d", "int x")), c.SYMBOL_IDS, [[]])
    assert materialize_table(table)[c.TOKEN_SYMBOL_IDS_COLUMN].to_pylist() == [[0, 0, 0, 0]]


def test_a_chunk_spans_the_first_to_the_last_token_it_overlaps() -> None:
    row = enriched_row(record("d", "alpha beta gamma", [(2, 8)]))
    assert (row[c.TOKEN_CHUNK_STARTS_COLUMN], row[c.TOKEN_CHUNK_ENDS_COLUMN]) == ([1], [4])


def test_levels_change_where_a_chunk_starts_and_are_zero_before_the_first() -> None:
    document = record("d", "a b c d", [(2, 3), (6, 7)])
    for chunk, level in zip(document[c.CHUNK_BOUNDARIES], (4, 2), strict=True):
        chunk["dep_level"] = level
    assert enriched_row(document)[c.TOKEN_DEP_LEVELS_COLUMN] == [0, 0, 0, 4, 4, 4, 4, 2]


def test_of_two_chunks_in_one_token_the_later_is_lost_with_its_edges() -> None:
    document = record("d", "identifier x", [(0, 4), (4, 10), (11, 12)], call_edges=[call_edge(0, 1), call_edge(2, 0)])
    row = enriched_row(document)
    assert (row[c.TOKEN_CHUNK_STARTS_COLUMN], row[c.TOKEN_CHUNK_ENDS_COLUMN]) == ([1, 3], [2, 4])
    assert row[c.TOKEN_CALL_EDGES_COLUMN] == [{"from": 1, "to": 0}]


def test_of_two_chunks_that_begin_in_one_token_the_longer_later_one_begins_a_token_on() -> None:
    row = enriched_row(record("d", "identifier x", [(0, 4), (4, 12)]))
    assert (row[c.TOKEN_CHUNK_STARTS_COLUMN], row[c.TOKEN_CHUNK_ENDS_COLUMN]) == ([1, 2], [2, 4])


def test_edges_follow_chunks_into_token_order_and_type_edges_run_from_user_to_type() -> None:
    document = record("d", "a b", [(2, 3), (0, 1)], call_edges=[call_edge(0, 1)], type_edges=[type_edge(0, 1)])
    row = enriched_row(document)
    assert row[c.TOKEN_CHUNK_KINDS_COLUMN] == [1, 0]
    assert row[c.TOKEN_CALL_EDGES_COLUMN] == [{"from": 1, "to": 0}]
    assert row[c.TOKEN_TYPE_EDGES_COLUMN] == [{"from": 0, "to": 1}]


def test_an_unknown_kind_is_other_and_case_does_not_matter() -> None:
    document = record("d", "a b", [(0, 1), (2, 3)])
    document[c.CHUNK_BOUNDARIES][0]["kind"], document[c.CHUNK_BOUNDARIES][1]["kind"] = "lambda", "FUNC_BODY"
    assert enriched_row(document)[c.TOKEN_CHUNK_KINDS_COLUMN] == [0, CATEGORY_ID["func_body"]]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (c.TOKEN_CHAR_STARTS, [[0, 0, 4, 3]], "spans that do not align: document d"),
        (c.TOKEN_CHAR_ENDS, [[0, 3, 2, 5]], "spans that do not align: document d"),
        (c.TOKEN_CHAR_ENDS, [[0, 3, 4, 6]], "spans inside the text"),
        (c.TOKEN_CHAR_STARTS, [[-1, 0, 3, 4]], "spans inside the text"),
        (c.TOKEN_CHAR_STARTS, [[]], "tokenizer without spans: document d"),
        (c.TOKEN_CHAR_ENDS, [None], "null"),
    ],
)
def test_spans_that_do_not_align_are_rejected(column: str, values: list[Any], message: str) -> None:
    table = with_column(tokenized(record("d", "int x")), column, values)
    with pytest.raises(SchemaViolation, match=message):
        materialize_table(table)


def test_a_table_without_spans_is_rejected() -> None:
    table = tokenized(record("d", "int x")).drop_columns([c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS])
    with pytest.raises(SchemaViolation, match="tokenizer without spans"):
        materialize_table(table)


def test_the_legacy_character_level_format_is_rejected() -> None:
    table = documents_table([record("d", "int x")])
    with pytest.raises(SchemaViolation, match="enriched_code_v3"):
        materialize_table(table)


def test_a_column_of_another_type_is_rejected() -> None:
    table = tokenized(record("d", "int x"))
    index = table.column_names.index(c.TOKEN_IDS_COLUMN)
    wide = table.set_column(index, c.TOKEN_IDS_COLUMN, table[c.TOKEN_IDS_COLUMN].cast(pa.list_(pa.int64())))
    with pytest.raises(SchemaViolation, match="token_ids"):
        materialize_table(wide)


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        ({"char_offset": 5, "char_end": 6}, "a token that overlaps"),
        ({"char_offset": -1, "char_end": 2}, "char_offset < char_end"),
        ({"char_offset": 2, "char_end": 2}, "char_offset < char_end"),
        ({"dep_level": -1}, "a level of 0"),
        ({"dep_level": 65_536}, "a level of 0"),
    ],
)
def test_a_chunk_that_does_not_fit_its_document_is_rejected(chunk: dict[str, int], message: str) -> None:
    document = record("d", "int x", [(0, 5)])
    document[c.CHUNK_BOUNDARIES][0] |= chunk
    with pytest.raises(SchemaViolation, match=message):
        enriched_row(document)


@pytest.mark.parametrize("edge", [call_edge(0, 1), call_edge(-1, 0)])
def test_an_edge_to_no_chunk_is_rejected(edge: dict[str, Any]) -> None:
    with pytest.raises(SchemaViolation, match="chunk count"):
        enriched_row(record("d", "int x", [(0, 5)], call_edges=[edge]))


EDGE = {"from": 0, "to": 0}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (c.TOKEN_DEP_LEVELS_COLUMN, [0, 0]),
        (c.TOKEN_CHUNK_STARTS_COLUMN, [3, 3]),
        (c.TOKEN_CHUNK_ENDS_COLUMN, [2, 99]),
        (c.TOKEN_CHUNK_KINDS_COLUMN, [1]),
        (c.TOKEN_CALL_EDGES_COLUMN, [EDGE | {"to": 2}]),
        (c.TOKEN_TYPE_EDGES_COLUMN, [EDGE | {"from": 7}]),
    ],
)
def test_metadata_that_is_not_whole_is_seen(column: str, value: list[Any]) -> None:
    enriched = materialize_table(tokenized(record("d", "a b", [(0, 1), (2, 3)])))
    assert has_materialized_token_metadata(enriched)
    assert not has_materialized_token_metadata(with_column(enriched, column, [value]))


def test_token_parquet_is_not_taken_for_enriched() -> None:
    assert not has_materialized_token_metadata(tokenized(record("d", "a b")))


def test_an_empty_table_gives_an_empty_enriched_table() -> None:
    enriched = materialize_table(TOKENIZED.empty_table())
    assert enriched.schema == ENRICHED and enriched.num_rows == 0
    assert has_materialized_token_metadata(enriched)


@given(records())
def test_the_text_and_its_provenance_are_untouched(document: dict[str, Any]) -> None:
    table = tokenized(document)
    enriched = materialize_table(table)
    for name in (*HEAD_KEYS, c.TOKEN_IDS_COLUMN):
        assert enriched[name].equals(table[name])
    assert np.array_equal(enriched[c.ACTUAL_TOKEN_COUNT].to_numpy(), table[c.ACTUAL_TOKEN_COUNT].to_numpy())
