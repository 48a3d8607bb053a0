"""A token of a rearranged document is traced to the place that it had before."""

from __future__ import annotations

import numpy as np
import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.lineage.tokens import Place, _position
from megacpp_assets.packed.spools.fim import MARK, Cut, marks_of, order_of


@pytest.mark.parametrize("suffix_first", [False, True])
def test_each_token_has_its_place_before_and_a_mark_has_none(suffix_first: bool) -> None:
    before = np.array([2, *range(9000, 9009)])
    cut = Cut(3, 6, suffix_first)
    order = order_of(cut, len(before))
    moved = before[order]
    moved[order == MARK] = marks_of(cut)
    ids = [2, 9100, 9101, *moved.tolist()]
    for column, original in enumerate(order.tolist(), start=3):
        place = Place("train", 0, column)
        if original == MARK:
            with pytest.raises(SpecError, match=r"--token 0:.*found a fill-in-the-middle marker"):
                _position(place, ids, [3, len(moved)], 1)
        else:
            assert _position(place, ids, [3, len(moved)], 1) == original
    assert _position(Place("train", 0, 2), ids, [3, len(moved)], 0) == 2
