"""The filter of repeats against upstream's answers and a slow twin; inputs and targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SchemaViolation, SpecError
from megacpp_assets.loader.grain.repeats import repeats_too_often
from megacpp_assets.loader.grain.transforms import NgramFilterTransform, ShiftToInputsTargets


def planted(period: int, count: int, at: int, length: int = 512) -> NDArray[np.uint32]:
    """Tokens that are all different, but for `count` of them from `at` on that repeat a pattern."""
    tokens = np.arange(1000, 1000 + length, dtype=np.uint32)
    tokens[at : at + count] = np.arange(count) % period
    return tokens


def same_at_both_ends(count: int) -> NDArray[np.uint32]:
    tokens = planted(1, count, 0)
    tokens[-count:] = 0
    return tokens


UPSTREAM = [
    ("31 times one token", planted(1, 31, 100), True),
    ("32 times", planted(1, 32, 100), False),
    ("33 times", planted(1, 33, 100), False),
    ("63 of a pattern of 2", planted(2, 63, 100), True),
    ("64 of a pattern of 2", planted(2, 64, 100), False),
    ("415 of 13", planted(13, 415, 50), True),
    ("416 of 13", planted(13, 416, 50), False),
    ("448 of 14, over the longest", planted(14, 448, 20), True),
    ("95 of 3", planted(3, 95, 101), True),
    ("96 of 3", planted(3, 96, 101), False),
    ("96 of 3 at the start", planted(3, 96, 0), False),
    ("96 of 3 at the end", planted(3, 96, 416), False),
    ("160 of 5", planted(5, 160, 7), False),
    ("16 at both ends", same_at_both_ends(16), True),
    ("200 the same", np.full(200, 7, np.uint32), False),
    ("95 the same", np.full(95, 7, np.uint32), False),
    ("2 the same", np.full(2, 7, np.uint32), True),
    ("32 the same", np.full(32, 7, np.uint32), False),
    ("the highest uint32", np.array([2**32 - 1, *range(511)], np.uint32), True),
    ("200 the same of uint16", np.full(200, 7, np.uint16), False),
    ("the highest uint16", np.array([2**16 - 1, *range(511)], np.uint16), True),
]


@pytest.mark.parametrize(("name", "tokens", "kept"), UPSTREAM, ids=[name for name, *_ in UPSTREAM])
def test_the_filter_keeps_the_same_windows_as_upstream(name: str, tokens: NDArray[np.generic], kept: bool) -> None:
    assert NgramFilterTransform().map({"tokens": tokens})["instance_mask"] is kept, name


@pytest.mark.parametrize("tokens", [same_at_both_ends(31), np.full(31, 7, np.uint32)])
def test_31_times_is_31_times_also_at_the_ends_where_maxtext_counts_across_them(tokens: NDArray[np.uint32]) -> None:
    assert NgramFilterTransform().map({"tokens": tokens})["instance_mask"]


@pytest.mark.parametrize(
    ("max_count", "times", "kept"), [(5, 5, False), (5, 4, True), (2, 2, True), (2, 3, False), (1, 2, True)]
)
def test_a_pattern_counts_from_its_third_time_on(max_count: int, times: int, kept: bool) -> None:
    found = NgramFilterTransform(max_count=max_count).map({"tokens": planted(1, times, 100)})["instance_mask"]
    assert found == kept


def slow_repeats(tokens: list[int], max_period: int, min_period: int, max_count: int) -> bool:
    """Every stretch of every period, counted token by token."""
    for period in range(min_period, min(max_period, len(tokens) // 3) + 1):
        run = 0
        for place in range(period, len(tokens)):
            run = run + 1 if tokens[place] == tokens[place - period] else 0
            times = (run + period) // period
            if times > 2 and times >= max_count:
                return True
    return False


@settings(max_examples=300)
@given(data=st.data())
def test_the_filter_says_what_counting_token_by_token_says(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 150))
    pieces = st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.integers(1, 12))
    rows = []
    for _ in range(data.draw(st.integers(1, 3))):
        text = [t for pattern, times in data.draw(st.lists(pieces, min_size=1, max_size=9)) for t in pattern * times]
        rows.append((text * length)[:length])
    limits = {
        "max_period": data.draw(st.integers(1, 13)),
        "min_period": data.draw(st.integers(1, 4)),
        "max_count": data.draw(st.integers(1, 12)),
    }
    found = repeats_too_often(np.array(rows, np.int32), **limits)
    assert found.tolist() == [slow_repeats(row, **limits) for row in rows]


def test_the_mask_value_among_the_tokens_is_rejected() -> None:
    with pytest.raises(SchemaViolation, match="mask_value") as refused:
        NgramFilterTransform().map({"tokens": np.array([1, -1, 2], np.int32)})
    assert isinstance(refused.value, ValueError)


def test_a_pattern_of_no_tokens_is_rejected() -> None:
    with pytest.raises(SpecError, match="min_period"):
        NgramFilterTransform(min_period=0)


@pytest.mark.parametrize("kept", [True, False])
def test_targets_are_the_tokens_after_and_a_filtered_window_trains_nothing(kept: bool) -> None:
    out = ShiftToInputsTargets().map({"tokens": np.arange(8, dtype=np.uint32), "instance_mask": kept, "file_id": 0})
    assert {name: values.tolist() for name, values in out.items()} == {
        "inputs": [0, 1, 2, 3, 4, 5, 6, 7],
        "targets": [1, 2, 3, 4, 5, 6, 7, 0],
        "inputs_position": [0, 1, 2, 3, 4, 5, 6, 7],
        "inputs_segmentation": [1] * 8,
        "targets_segmentation": [int(kept)] * 7 + [0],
    }
    assert {str(values.dtype) for values in out.values()} == {"int32"}


def test_a_batch_is_its_windows_one_by_one() -> None:
    tokens = np.stack([planted(1, 31, 100), planted(1, 32, 100), same_at_both_ends(40)])
    kinds = (NgramFilterTransform(), ShiftToInputsTargets())
    together, single = {"tokens": tokens}, [{"tokens": row} for row in tokens]
    for kind in kinds:
        together, single = kind.map(together), [kind.map(each) for each in single]
    for name, values in together.items():
        assert np.array_equal(values, np.stack([each[name] for each in single]))
