"""Tests of the exact token limit: where documents are cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.tokenized.split import DocumentLimits, cut_points
from tests.tokenized.documents import record, records
from tests.tokenized.word_encoder import WordEncoder, token_count

ENCODER = WordEncoder()


def cuts_of(document: dict[str, Any], limit: int, chunk_limit: int = 128) -> list[int]:
    text = document["text"]
    chunks = [(chunk["char_offset"], chunk["char_end"]) for chunk in document["chunk_boundaries"]]
    starts = ENCODER.encode_arrow(pa.array([text])).char_starts.flatten().to_numpy()[1:]
    return cut_points(
        text, np.array(chunks, dtype=np.int64).reshape(-1, 2), starts, ENCODER, DocumentLimits(limit, chunk_limit)
    )


@given(records(nested=True), st.integers(8, 40))
def test_pieces_cover_the_text_once_and_each_has_at_most_the_limit_of_tokens(
    document: dict[str, Any], limit: int
) -> None:
    cuts = cuts_of(document, limit)
    text = document["text"]
    assert cuts[0] == 0 and cuts[-1] == len(text)
    assert all(begin < end for begin, end in pairwise(cuts))
    assert all(token_count(text[begin:end]) <= limit for begin, end in pairwise(cuts))


@given(records(), st.integers(8, 40))
def test_a_chunk_that_fits_alone_is_never_cut(document: dict[str, Any], limit: int) -> None:
    text = document["text"]
    bounds = [chunk["char_offset"] for chunk in document["chunk_boundaries"]] + [len(text)]
    for begin, end in pairwise(bounds):
        if token_count(text[begin:end]) <= limit // 2:
            assert not [cut for cut in cuts_of(document, limit) if begin < cut < end]


def test_pieces_take_whole_chunks_in_order_for_as_long_as_they_fit() -> None:
    chunk = "a b c d e;\n"  # eleven tokens and BOS
    text = chunk * 6
    document = record("d", text, [(at, at + 10) for at in range(0, len(text), 11)])
    assert cuts_of(document, 1 + 11 * 2) == [0, 22, 44, 66]
    assert cuts_of(document, 1 + 11 * 4) == [0, 44, 66]


def test_the_gap_after_a_chunk_goes_with_it() -> None:
    text = "int a;\n\n// about b\nint b;\n"
    second = text.index("int b")
    assert cuts_of(record("d", text, [(0, 6), (second, second + 6)]), 13) == [0, second, len(text)]


def test_a_chunk_that_is_too_long_is_cut_after_a_blank_line_rather_than_nearer_the_limit() -> None:
    text = "one two\nthree\n\nfour five\nsix seven eight nine"
    assert cuts_of(record("d", text, [(0, len(text))]), 13)[1] == text.index("four")


def test_a_long_chunk_without_any_break_is_cut_between_characters() -> None:
    text = "名" * 50
    cuts = cuts_of(record("d", text, [(0, 50)]), 10)
    assert cuts == [*range(0, 50, 3), 50]


def test_a_chunk_inside_another_is_no_place_to_cut() -> None:
    text = "namespace a { int f ( ) ; int g ( ) ; }"
    inner = text.index("int g")
    outer_only = cuts_of(record("d", text, [(0, len(text))]), 30)
    assert cuts_of(record("d", text, [(0, len(text)), (inner, inner + 5)]), 30) == outer_only


def test_a_text_of_exactly_the_limit_stays_whole() -> None:
    text = "a b c d e f"
    assert cuts_of(record("d", text), token_count(text)) == [0, len(text)]
    assert len(cuts_of(record("d", text), token_count(text) - 1)) == 3


def test_more_chunks_than_the_limit_are_divided_among_pieces() -> None:
    text = "int a;\n" * 7
    document = record("d", text, [(at, at + 6) for at in range(0, len(text), 7)])
    assert cuts_of(document, 4096, chunk_limit=3) == [0, 21, 42, 49]


@given(records(), st.integers(8, 40), st.integers(2, 4))
def test_no_piece_has_more_chunks_than_the_limit(document: dict[str, Any], limit: int, chunk_limit: int) -> None:
    spans = [(chunk["char_offset"], chunk["char_end"]) for chunk in document["chunk_boundaries"]]
    for begin, end in pairwise(cuts_of(document, limit, chunk_limit)):
        assert sum(start < end and stop > begin for start, stop in spans) <= chunk_limit


def test_a_limit_too_small_for_any_character_is_rejected() -> None:
    with pytest.raises(SpecError, match="at least 8"):
        cuts_of(record("d", "x"), 7)
