from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.outline.ranges import among, cover, fill, flattened, keys, paint, spread

_SIZE = 12
_RANGES = st.lists(
    st.tuples(st.integers(0, _SIZE), st.integers(0, _SIZE), st.integers(0, 4)).map(
        lambda entry: (min(entry[:2]), max(entry[:2]), entry[2])
    ),
    max_size=10,
)


def _columns(ranges: list[tuple[int, int, int]]) -> np.ndarray:
    return np.array(ranges, dtype=np.int64).reshape(-1, 3).T


def _slow_paint(ranges: list[tuple[int, int, int]]) -> list[int]:
    owner = [-1] * _SIZE
    for index, (start, end, level) in enumerate(ranges):
        for at in range(start, end):
            if owner[at] < 0 or ranges[owner[at]][2] < level:
                owner[at] = index
    return owner


@given(_RANGES)
def test_painting_equals_painting_byte_by_byte(ranges: list[tuple[int, int, int]]) -> None:
    assert paint(_SIZE, *_columns(ranges)).tolist() == _slow_paint(ranges)


@given(_RANGES)
def test_cover_is_true_inside_of_ranges(ranges: list[tuple[int, int, int]]) -> None:
    starts, ends, _ = _columns(ranges)
    assert cover(_SIZE, starts, ends).tolist() == [owner >= 0 for owner in _slow_paint(ranges)]


def test_nothing_paints_nothing() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert paint(0, none, none, none).tolist() == []
    assert paint(2, none, none, none).tolist() == [-1, -1]


def test_declarations_of_a_macro_have_one_depth() -> None:
    ranges = keys(np.array([0, 0, 0, 3]), np.array([9, 9, 9, 5]))
    levels = flattened(np.array([2, 3, 4, 5]), ranges, keys(np.array([0]), np.array([9])))
    assert levels.tolist() == [2, 2, 2, 5]


@pytest.mark.parametrize("levels", [[0, 1 << 40], [-(1 << 40), 1 << 40], [-(1 << 63), (1 << 63) - 1]])
def test_levels_may_lie_far_apart(levels: list[int]) -> None:
    starts, ends = np.array([0, 1]), np.array([3, 2])
    assert paint(3, starts, ends, np.array(levels)).tolist() == [0, 1, 0]


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 4)])
def test_a_range_outside_the_bytes_is_rejected(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        paint(3, np.array([start]), np.array([end]), np.array([0]))


_RECORD = np.dtype([("byte", "u1"), ("short", "u2"), ("word", "u4")])
_FIELDS = st.sampled_from(["byte", "short", "word"])


@given(_FIELDS, st.lists(st.integers(-1, 3), max_size=_SIZE), st.lists(st.integers(0, 255), min_size=4, max_size=4))
def test_each_record_gets_the_value_of_its_owner_and_one_without_keeps_its_own(
    name: str, owner: list[int], values: list[int]
) -> None:
    records = np.zeros(len(owner), dtype=_RECORD)
    records["byte"], records["short"], records["word"] = 7, 7, 7
    spread(records, name, np.array(owner, dtype=np.int32), np.array(values))
    assert records[name].tolist() == [values[index] if index >= 0 else 7 for index in owner]
    assert all((records[other] == 7).all() for other in _RECORD.names if other != name)


@given(_FIELDS, _RANGES)
def test_a_range_of_records_gets_one_value_the_last_written_stays(
    name: str, ranges: list[tuple[int, int, int]]
) -> None:
    records, expected = np.zeros(_SIZE, dtype=_RECORD), [0] * _SIZE
    starts, ends, values = _columns(ranges)
    fill(records, name, starts.copy(), ends.copy(), values + 1)
    for start, end, value in ranges:
        expected[start:end] = [value + 1] * (end - start)
    assert records[name].tolist() == expected
    assert not any(records[other].any() for other in _RECORD.names if other != name)


def test_invalid_owners_and_ranges_are_rejected() -> None:
    records, values = np.zeros(3, dtype=_RECORD), np.array([1, 2])
    with pytest.raises(ValueError, match="an owner has no value"):
        spread(records, "word", np.array([0, 1, 2], dtype=np.int32), values)
    with pytest.raises(ValueError, match="unequal columns"):
        spread(records, "word", np.array([0, 1], dtype=np.int32), values)
    for starts, ends in (([0, 2], [1, 4]), ([-1, 2], [1, 3]), ([2, 0], [1, 1])):
        with pytest.raises(ValueError, match="outside the records"):
            fill(records, "word", np.array(starts), np.array(ends), values)


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_among_marks_known_values(values: list[int], known: list[int]) -> None:
    found = among(np.array(values, dtype=np.int64), np.array(known, dtype=np.int64))
    assert found.tolist() == [value in known for value in values]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5))), st.lists(st.integers(0, 3)))
def test_a_flat_range_has_the_least_level_of_its_members(rows: list[tuple[int, int, int]], flat: list[int]) -> None:
    starts, ends, levels = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    ranges = keys(starts, ends)
    kept = ranges[[number for number in flat if number < len(ranges)]]
    least = {key: min(level for (start, end, level) in rows if (start << 32) | end == key) for key in kept.tolist()}
    expected = [least.get((start << 32) | end, level) for start, end, level in rows]
    assert flattened(levels.copy(), ranges, kept).tolist() == expected
