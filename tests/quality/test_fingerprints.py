"""Document fingerprints: equal for equal documents wherever they lie, different for any change."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.quality.reading.fingerprints import fingerprints

DOCUMENTS = st.lists(st.lists(st.tuples(st.integers(0, 131_071), st.integers(0, 255)), max_size=12), max_size=8)


def _prints(documents: list[list[tuple[int, int]]]) -> list[int]:
    flat = np.array([pair for document in documents for pair in document], dtype=np.int64).reshape(-1, 2)
    lengths = np.array([len(document) for document in documents], dtype=np.int64)
    ends = np.cumsum(lengths)
    return fingerprints(list(flat.T), ends - lengths, ends).tolist()


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
