"""Tests of tokenizing a batch: spans, the exact limit, and what becomes of a split document's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import CHAR_TYPES, TOKENIZED
from megacpp_assets.contract.tokens.encoding import EncodedLists
from megacpp_assets.tokenized.encode import tokenize
from megacpp_assets.tokenized.records import documents_table
from megacpp_assets.tokenized.split import DocumentLimits
from tests.tokenized.documents import call_edge, record, records, type_edge
from tests.tokenized.word_encoder import WordEncoder

BATCHES = st.lists(records(), min_size=1, max_size=4)


def rows(documents: Sequence[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    return tokenize(documents_table(documents), WordEncoder(), DocumentLimits(limit, 128)).table.to_pylist()


def pieces_of(documents: Sequence[dict[str, Any]], limit: int) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each document with the rows it became."""
    batch = tokenize(documents_table(documents), WordEncoder(), DocumentLimits(limit, 128))
    remaining = iter(batch.table.to_pylist())
    pairs = [
        (document, [next(remaining) for _ in range(count)])
        for document, count in zip(documents, batch.pieces.tolist(), strict=True)
    ]
    assert next(remaining, None) is None
    return pairs


def sources(document: dict[str, Any], edges: str, ends: tuple[str, str]) -> list[tuple[Any, Any]]:
    chunks = document[c.CHUNK_BOUNDARIES]
    return [tuple(chunks[edge[end]]["name"] for end in ends) for edge in document[edges]]


@given(BATCHES, st.integers(8, 30))
def test_pieces_join_to_the_document_in_every_character_column(documents: list[dict[str, Any]], limit: int) -> None:
    for document, pieces in pieces_of(documents, limit):
        assert "".join(piece[c.TEXT] for piece in pieces) == document[c.TEXT]
        for name in CHAR_TYPES:
            assert [value for piece in pieces for value in piece[name]] == document[name]


@given(BATCHES, st.integers(8, 30))
def test_every_row_is_within_the_limit_and_its_spans_cover_its_own_text(
    documents: list[dict[str, Any]], limit: int
) -> None:
    for row in rows(documents, limit):
        starts, ends = row[c.TOKEN_CHAR_STARTS], row[c.TOKEN_CHAR_ENDS]
        assert len(row[c.TOKEN_IDS_COLUMN]) == len(starts) == len(ends) == row[c.ACTUAL_TOKEN_COUNT] <= limit
        distinct = list(dict.fromkeys(zip(starts, ends, strict=True)))[1:]
        assert "".join(row[c.TEXT][start:end] for start, end in distinct) == row[c.TEXT]


@given(BATCHES, st.integers(8, 30))
def test_chunks_keep_their_characters_and_edges_join_the_same_chunks(
    documents: list[dict[str, Any]], limit: int
) -> None:
    for document, pieces in pieces_of(documents, limit):
        for chunk in document[c.CHUNK_BOUNDARIES]:
            parts = [
                piece[c.TEXT][part["char_offset"] : part["char_end"]]
                for piece in pieces
                for part in piece[c.CHUNK_BOUNDARIES]
                if part["name"] == chunk["name"]
            ]
            assert "".join(parts) == document[c.TEXT][chunk["char_offset"] : chunk["char_end"]]
        for edges, ends in ((c.CALL_EDGES, ("caller_idx", "callee_idx")), (c.TYPE_EDGES, ("type_idx", "user_idx"))):
            wanted = sources(document, edges, ends)
            for piece in pieces:
                names = {part["name"] for part in piece[c.CHUNK_BOUNDARIES]}
                assert sources(piece, edges, ends) == [pair for pair in wanted if set(pair) <= names]


def test_pieces_are_numbered_and_whole_documents_keep_their_names() -> None:
    long, short = record("fmt@11.0.0:a.cc:0", "a b c d e f g h"), record("fmt@11.0.0:b.cc:0", "a b")
    assert [row[c.DOC_ID] for row in rows([short, long, short], 10)] == [
        "fmt@11.0.0:b.cc:0", "fmt@11.0.0:a.cc:0.0000", "fmt@11.0.0:a.cc:0.0001", "fmt@11.0.0:b.cc:0",
    ]  # fmt: skip


def test_edges_across_pieces_are_dropped_and_those_within_are_renumbered() -> None:
    text = "a b c d;" * 3
    document = record(
        "d", text, [(0, 8), (8, 16), (16, 24)],
        call_edges=[call_edge(0, 1), call_edge(1, 2), call_edge(2, 2)], type_edges=[type_edge(1, 0), type_edge(2, 0)],
    )  # fmt: skip
    first, second = rows([document], 1 + 16)
    assert first[c.CALL_EDGES] == [call_edge(0, 1)] and first[c.TYPE_EDGES] == [type_edge(1, 0)]
    assert second[c.CALL_EDGES] == [call_edge(0, 0)] and second[c.TYPE_EDGES] == []


def test_a_constituent_of_file_bytes_keeps_the_bytes_of_its_part() -> None:
    document = record("d", "é b c d e f g h")
    first, second = rows([document], 11)
    (one,), (two,) = first[c.CONSTITUENTS], second[c.CONSTITUENTS]
    cut = len(first[c.TEXT].encode())
    assert (one["byte_start"], one["byte_end"], one["char_end"]) == (100, 100 + cut, len(first[c.TEXT]))
    assert (two["byte_start"], two["byte_end"], two["char_start"]) == (100 + cut, 116, 0)


def test_a_constituent_of_a_transcoded_file_counts_the_bytes_of_its_encoding() -> None:
    document = record("d", "é b c d e f g h")
    document[c.CONSTITUENTS][0].update(encoding="utf-16-le", byte_end=100 + 30)
    first, second = rows([document], 11)
    (one,), (two,) = first[c.CONSTITUENTS], second[c.CONSTITUENTS]
    cut = 100 + 2 * len(first[c.TEXT])
    assert [(part["byte_start"], part["byte_end"]) for part in (one, two)] == [(100, cut), (cut, 130)]


def test_a_constituent_that_is_not_file_bytes_keeps_its_whole_range() -> None:
    document = record("d", "a b c d e f g h")
    document[c.CONSTITUENTS][0]["byte_end"] += 3
    assert {(part["byte_start"], part["byte_end"]) for row in rows([document], 10) for part in row[c.CONSTITUENTS]} == {
        (100, 118)
    }


@given(BATCHES, st.integers(8, 30))
def test_a_document_is_tokenized_alike_whatever_its_neighbours(documents: list[dict[str, Any]], limit: int) -> None:
    alone = [row for document in documents for row in rows([document], limit)]
    assert rows(documents, limit) == alone


def test_an_empty_batch_gives_an_empty_table_of_the_schema() -> None:
    table = tokenize(documents_table([]), WordEncoder(), DocumentLimits(4096, 128)).table
    assert table.schema == TOKENIZED and table.num_rows == 0


class SpanlessEncoder(WordEncoder):
    def encode_arrow(self, texts: pa.Array | pa.ChunkedArray) -> EncodedLists:
        nothing = pa.array([[]] * len(texts), type=pa.list_(pa.int32()))
        return replace(super().encode_arrow(texts), char_starts=nothing)


def test_an_encoder_without_spans_is_rejected() -> None:
    with pytest.raises(SchemaViolation, match="without spans"):
        tokenize(documents_table([record("d", "int x")]), SpanlessEncoder(), DocumentLimits(4096, 128))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("structure_ids", [0] * 4, "key structure_ids; expected 5; found 4"),
        ("structure_ids", [0, 1, 2, 3, 256], "uint8"),
        ("ast_depth", [0, 1, 2, 3, 65536], "uint16"),
        ("symbol_ids", [0, 1, 2, 3, -1], "uint32"),
        ("symbol_ids", [0, 1, 2, 3, 1.5], "uint32"),
        ("def_use", None, "key def_use; expected a text and a list"),
        ("text", None, "expected a text and a list"),
        ("byte_start", "zero", "byte_start"),
        ("license", None, "license"),
        ("call_edges", [{"caller_idx": 0}], "call_edges"),
        ("chunk_boundaries", None, "chunk_boundaries"),
    ],
)
def test_a_record_that_breaks_its_contract_is_rejected_with_its_key(key: str, value: Any, message: str) -> None:
    with pytest.raises(SchemaViolation, match=message):
        documents_table([record("d", "int x"), record("d", "int x") | {key: value}])


@given(BATCHES)
def test_records_keep_every_value(documents: list[dict[str, Any]]) -> None:
    table = documents_table(documents)
    given = [name for name in table.column_names if name not in (*c.CHANGE_COLUMNS, c.CONSTITUENTS)]
    wanted = [{name: document[name] for name in given} for document in documents]
    assert wanted == table.select(given).to_pylist()
    blobs = [[{**part, "blob": "", "encoding": "utf-8"} for part in document[c.CONSTITUENTS]] for document in documents]
    assert table[c.CONSTITUENTS].to_pylist() == blobs
    assert all(column == [[]] * len(documents) for column in table.select(c.CHANGE_COLUMNS).to_pydict().values())
