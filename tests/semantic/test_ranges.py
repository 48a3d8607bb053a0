from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.ranges import cover, flattened, keys, paint

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
def test_cover_is_true_where_some_range_lies(ranges: list[tuple[int, int, int]]) -> None:
    starts, ends, _ = _columns(ranges)
    assert cover(_SIZE, starts, ends).tolist() == [owner >= 0 for owner in _slow_paint(ranges)]


def test_nothing_paints_nothing() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert paint(0, none, none, none).tolist() == []
    assert paint(2, none, none, none).tolist() == [-1, -1]


def test_what_a_macro_made_is_flat_and_the_rest_keeps_its_depth() -> None:
    ranges = keys(np.array([0, 0, 0, 3]), np.array([9, 9, 9, 5]))
    levels = flattened(np.array([2, 3, 4, 5]), ranges, keys(np.array([0]), np.array([9])))
    assert levels.tolist() == [2, 2, 2, 5]


@pytest.mark.parametrize("levels", [[0, 1 << 40], [-(1 << 40), 1 << 40], [-(1 << 63), (1 << 63) - 1]])
def test_levels_may_lie_far_apart(levels: list[int]) -> None:
    starts, ends = np.array([0, 1]), np.array([3, 2])
    assert paint(3, starts, ends, np.array(levels)).tolist() == [0, 1, 0]


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 4)])
def test_a_range_outside_the_bytes_is_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        paint(3, np.array([start]), np.array([end]), np.array([0]))
