"""First fit and sequential packing: equality with twins that look at every row, and what every strategy holds to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import PackOverflow
from megacpp_assets.contract.recipe.rows import PACKING_STRATEGIES
from megacpp_assets.packed.plan import RowLimits, RowPlan
from megacpp_assets.packed.strategies.choose import STRATEGIES, plan_rows

LIMITS = RowLimits(tokens=32, chunks=6)
DOCUMENTS = st.lists(st.tuples(st.integers(1, 32), st.integers(0, 6)), max_size=120)


def _rows(plan: RowPlan) -> list[list[int]]:
    return [plan.documents[first:end].tolist() for first, end in zip(plan.offsets[:-1], plan.offsets[1:], strict=True)]


def _planned(strategy: str, documents: list[tuple[int, int]], seed: int = 3) -> list[list[int]]:
    lengths, chunks = np.array(documents, dtype=np.int64).reshape(-1, 2).T
    return _rows(plan_rows(strategy, lengths, chunks, limits=LIMITS, seed=seed))


def _first_fit_twin(documents: list[tuple[int, int]], last_only: bool = False) -> list[list[int]]:
    rows: list[list[int]] = []
    for index, (size, parts) in enumerate(documents):
        candidates = rows[-1:] if last_only else rows
        for row in candidates:
            tokens, chunks = (sum(documents[each][side] for each in row) for side in (0, 1))
            if tokens + size <= LIMITS.tokens and chunks + parts <= LIMITS.chunks:
                row.append(index)
                break
        else:
            rows.append([index])
    return rows


@given(DOCUMENTS, st.integers(0, 2**32))
def test_first_fit_puts_each_document_into_the_first_row_with_room(documents: list[tuple[int, int]], seed: int) -> None:
    assert sorted(_planned("first_fit", documents, seed)) == _first_fit_twin(documents)


@given(DOCUMENTS)
def test_sequential_keeps_the_order_of_documents_and_of_rows(documents: list[tuple[int, int]]) -> None:
    assert _planned("sequential", documents) == _first_fit_twin(documents, last_only=True)


@given(DOCUMENTS)
@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_strategy_places_every_document_once_within_both_limits(
    name: str, documents: list[tuple[int, int]]
) -> None:
    rows = _planned(name, documents)
    assert sorted(index for row in rows for index in row) == list(range(len(documents)))
    for row in rows:
        assert row == sorted(row)
        assert sum(documents[index][0] for index in row) <= LIMITS.tokens
        assert sum(documents[index][1] for index in row) <= LIMITS.chunks


@pytest.mark.parametrize("name", sorted(STRATEGIES))
@pytest.mark.parametrize(("size", "fits"), [(31, True), (32, True), (33, False)])
def test_a_document_of_t_fits_and_one_of_t_and_one_is_rejected_by_name(name: str, size: int, fits: bool) -> None:
    lengths, chunks = np.array([3, size]), np.array([1, 1])
    if fits:
        assert plan_rows(name, lengths, chunks, limits=LIMITS, seed=0).rows == (1 if size < 30 else 2)
        return
    with pytest.raises(PackOverflow, match=r"fmt:x; expected at most 32 tokens in one row; found 33 tokens"):
        plan_rows(name, lengths, chunks, limits=LIMITS, seed=0, name_of=["a", "fmt:x"].__getitem__)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_no_documents_make_no_rows(name: str) -> None:
    assert plan_rows(name, np.empty(0, np.int64), np.empty(0, np.int64), limits=LIMITS, seed=0).rows == 0


def test_a_recipe_can_name_each_strategy_that_there_is() -> None:
    assert sorted(STRATEGIES) == sorted(PACKING_STRATEGIES)
