"""Fingerprints of documents: of every value, its column and its place, wherever the document lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from megacpp_assets.quality.reading.fingerprints import fingerprints

DOCUMENTS = st.lists(st.lists(st.tuples(st.integers(0, 131_071), st.integers(0, 255)), max_size=12), max_size=8)
DTYPES = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64)
ODD, BASE, MODULUS = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95, 1 << 64


def _prints(documents: list[list[tuple[int, int]]]) -> list[int]:
    flat = np.array([pair for document in documents for pair in document], dtype=np.int64).reshape(-1, 2)
    lengths = np.array([len(document) for document in documents], dtype=np.int64)
    ends = np.cumsum(lengths)
    return fingerprints(list(flat.T), ends - lengths, ends).tolist()


def _by_definition(columns: list[NDArray[Any]], start: int, end: int) -> int:
    total = 0
    for place in range(start, end):
        summed = sum(int(column[place]) * ODD * (2 * each + 1) for each, column in enumerate(columns)) % MODULUS
        total += ((summed ^ summed >> 29) + 1) * pow(BASE, place - start, MODULUS)
    return total % MODULUS


@given(
    st.lists(st.sampled_from(DTYPES), min_size=1, max_size=4),
    st.lists(st.integers(0, 1200), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_a_fingerprint_is_the_sum_of_its_definition(dtypes: list[Any], lengths: list[int], seed: int) -> None:
    count, random = sum(lengths), np.random.default_rng(seed)
    columns = [random.integers(np.iinfo(d).min, np.iinfo(d).max, count, dtype=d, endpoint=True) for d in dtypes]
    ends = np.cumsum(lengths)
    starts = ends - lengths
    expected = [_by_definition(columns, *places) for places in zip(starts.tolist(), ends.tolist(), strict=True)]
    assert fingerprints(columns, starts, ends).tolist() == expected


def test_flags_are_numbers() -> None:
    flags, place = np.array([True, False, True]), (np.array([0]), np.array([3]))
    assert fingerprints([flags], *place) == fingerprints([flags.astype(np.uint8)], *place)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 4)])
def test_a_document_outside_of_its_columns_is_rejected(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="documents that lie within their columns"):
        fingerprints([np.zeros(3, dtype=np.int32)], np.array([start]), np.array([end]))


def test_values_that_are_no_integers_are_rejected() -> None:
    with pytest.raises(ValueError, match="columns of whole numbers"):
        fingerprints([np.zeros(3)], np.array([0]), np.array([3]))


@given(DOCUMENTS)
def test_a_document_has_the_same_fingerprint_alone_and_in_company(documents: list[list[tuple[int, int]]]) -> None:
    assert _prints(documents) == [_prints([document])[0] for document in documents]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12), st.data())
def test_a_changed_value_changes_the_fingerprint(document: list[tuple[int, int]], data: st.DataObject) -> None:
    place, column = data.draw(st.integers(0, len(document) - 1)), data.draw(st.integers(0, 1))
    changed = [list(pair) for pair in document]
    changed[place][column] += data.draw(st.integers(1, 5))
    assert _prints([document]) != _prints([[(first, second) for first, second in changed]])


def test_order_and_column_matter() -> None:
    assert len({tuple(_prints([document])) for document in ([(1, 2), (3, 4)], [(3, 4), (1, 2)], [(2, 1), (4, 3)])}) == 3


def test_the_type_of_a_column_does_not_matter() -> None:
    values, starts, ends = [5, 0, 7], np.array([0]), np.array([3])
    same = {int(fingerprints([np.array(values, kind)], starts, ends)[0]) for kind in ("u1", "u2", "i4", "u4", "i8")}
    assert len(same) == 1
