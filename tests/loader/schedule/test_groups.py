"""Groups of sequences: whole, in order, within the capacity, and as many as ranks and virtual stages need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import PackOverflow, SpecError
from megacpp_assets.loader.schedule.groups import Limit, groups_in_order


@given(st.lists(st.integers(1, 30), min_size=16, max_size=80), st.integers(30, 90), st.sampled_from([1, 2, 4, 8]))
def test_groups_keep_the_order_and_are_a_multiple(lengths: list[int], capacity: int, multiple: int) -> None:
    try:
        groups = groups_in_order(lengths, capacity=capacity, multiple=multiple)
    except SpecError:
        assert len(groups_in_order(lengths, capacity=capacity, multiple=1)) > len(lengths) - multiple
        return
    assert [n for group in groups for n in group] == list(range(len(lengths)))
    assert len(groups) % multiple == 0 and all(groups)
    assert all(sum(lengths[n] for n in group) <= capacity for group in groups)
    least = groups_in_order(lengths, capacity=capacity, multiple=1)
    assert len(groups) < len(least) + multiple
    firsts = {group.start for group in groups}
    assert {group.start for group in least} <= firsts, "a filled group is only ever cut"


def test_a_group_is_filled_until_the_next_sequence_does_not_fit_and_the_heaviest_is_cut_in_half() -> None:
    lengths = [4, 4, 4, 1, 1, 1, 1, 9]
    assert groups_in_order(lengths, capacity=12, multiple=1) == [range(3), range(3, 7), range(7, 8)]
    assert groups_in_order(lengths, capacity=12, multiple=4)[:2] == [range(1), range(1, 3)]


def test_a_group_is_filled_until_the_chunks_of_the_next_sequence_do_not_fit() -> None:
    limit = Limit("chunks", [2, 0, 2, 1, 3], 3)
    assert groups_in_order([1] * 5, capacity=4, multiple=1, limits=[limit]) == [range(2), range(2, 4), range(4, 5)]
    with pytest.raises(PackOverflow, match="sequence 4; expected at most 2 chunks in a microbatch; found 3 chunks"):
        groups_in_order([1] * 5, capacity=4, multiple=1, limits=[Limit("chunks", limit.counts, 2)])


def test_an_impossible_schedule_is_rejected() -> None:
    with pytest.raises(PackOverflow, match="sequence 1; expected at most 8 tokens in a microbatch; found 9 tokens"):
        groups_in_order([3, 9], capacity=8, multiple=1)
    with pytest.raises(SpecError, match="global batch; expected at least 4 sequences; found 3"):
        groups_in_order([3, 3, 3], capacity=8, multiple=4)
    with pytest.raises(SpecError, match="at least 2 sequences; found 0"):
        groups_in_order([], capacity=8, multiple=2)
