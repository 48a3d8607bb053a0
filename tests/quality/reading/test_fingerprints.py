"""Fingerprints of documents: of every value, its column and its place, wherever the document lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from megacpp_assets.quality.reading.fingerprints import fingerprints

DTYPES = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64)
ODD, BASE, MODULUS = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95, 1 << 64


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


def test_a_document_has_its_fingerprint_wherever_it_lies_and_in_every_dtype() -> None:
    once = np.arange(-300, 300)
    moved = np.concatenate([np.zeros(77, dtype=np.int64), once]).astype(np.int16)
    (here,) = fingerprints([once], np.array([0]), np.array([600]))
    (there,) = fingerprints([moved], np.array([77]), np.array([677]))
    assert here == there


def test_a_value_more_another_order_another_column_or_another_length_are_other_fingerprints() -> None:
    plain, zeros, whole = np.arange(9), np.zeros(9, dtype=np.int64), (np.array([0]), np.array([9]))
    changed = np.where(plain == 4, 5, plain)
    found = [fingerprints(columns, *whole)[0] for columns in ([plain, zeros], [zeros, plain], [plain[::-1], zeros])]
    found += [fingerprints([changed, zeros], *whole)[0], fingerprints([zeros], *whole)[0]]
    found += [fingerprints([zeros], np.array([0]), np.array([8]))[0]]
    assert len(set(found)) == len(found)


def test_flags_are_numbers() -> None:
    flags, place = np.array([True, False, True]), (np.array([0]), np.array([3]))
    assert fingerprints([flags], *place) == fingerprints([flags.astype(np.uint8)], *place)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 4)])
def test_a_document_outside_of_its_columns_is_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="documents that lie within their columns"):
        fingerprints([np.zeros(3, dtype=np.int32)], np.array([start]), np.array([end]))


def test_values_that_are_no_integers_are_refused() -> None:
    with pytest.raises(ValueError, match="columns of whole numbers"):
        fingerprints([np.zeros(3)], np.array([0]), np.array([3]))
