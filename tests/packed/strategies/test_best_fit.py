"""Best-fit packing: properties over drawn lengths, equality with a per-document twin, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from megacpp_assets.contract.errors import PackOverflow, SpecError
from megacpp_assets.packed.plan import RowLimits, RowPlan
from megacpp_assets.packed.strategies.choose import plan_rows
from tests.packed.slow_packer import best_fit_residuals

LIMITS = RowLimits(tokens=64, chunks=10)
SIZES = st.lists(st.tuples(st.integers(1, 64), st.integers(0, 10)), max_size=150)
ALIKE = st.lists(st.tuples(st.sampled_from([3, 20, 21, 22, 64]), st.sampled_from([0, 1, 5, 9])), max_size=150)


def _columns(sizes: list[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lengths, chunks = np.array(sizes, dtype=np.int64).reshape(-1, 2).T
    return lengths, chunks


def _sums(plan: RowPlan, amounts: NDArray[np.int64]) -> list[int]:
    return [
        int(amounts[plan.documents[first:end]].sum())
        for first, end in zip(plan.offsets[:-1], plan.offsets[1:], strict=True)
    ]


@given(SIZES | ALIKE, st.integers(0, 2**32))
@settings(max_examples=150)
def test_every_document_is_in_one_row_and_no_row_exceeds_a_limit(sizes: list[tuple[int, int]], seed: int) -> None:
    lengths, chunks = _columns(sizes)
    plan = plan_rows("best_fit", lengths, chunks, limits=LIMITS, seed=seed)
    assert sorted(plan.documents.tolist()) == list(range(len(sizes)))
    assert all(0 < tokens <= LIMITS.tokens for tokens in _sums(plan, lengths))
    assert all(count <= LIMITS.chunks for count in _sums(plan, chunks))
    assert plan.offsets[0] == 0 and plan.offsets[-1] == len(sizes)


@given(st.lists(st.integers(1, 64), max_size=120), st.integers(0, 9))
def test_without_a_binding_cap_the_rows_are_those_of_the_per_document_twin(lengths: list[int], seed: int) -> None:
    plan = plan_rows(
        "best_fit", np.array(lengths, np.int64), np.zeros(len(lengths), np.int64), limits=LIMITS, seed=seed
    )
    rooms = sorted(LIMITS.tokens - total for total in _sums(plan, np.array(lengths, np.int64)))
    assert rooms == best_fit_residuals(lengths, LIMITS.tokens)


@given(st.lists(st.integers(1, 10), max_size=120), st.integers(0, 9))
def test_where_chunks_are_scarcer_rows_are_filled_by_chunks(chunks: list[int], seed: int) -> None:
    counts = np.array(chunks, np.int64)
    plan = plan_rows(
        "best_fit", np.ones(len(chunks), np.int64), counts, limits=RowLimits(tokens=1000, chunks=10), seed=seed
    )
    assert sorted(10 - total for total in _sums(plan, counts)) == best_fit_residuals(chunks, 10)


@given(SIZES, st.integers(0, 99))
def test_documents_of_a_row_ascend_and_a_seed_repeats_its_plan(sizes: list[tuple[int, int]], seed: int) -> None:
    lengths, chunks = _columns(sizes)
    plan, again = (plan_rows("best_fit", lengths, chunks, limits=LIMITS, seed=seed) for _ in range(2))
    assert plan.documents.tolist() == again.documents.tolist() and plan.offsets.tolist() == again.offsets.tolist()
    for first, end in zip(plan.offsets[:-1], plan.offsets[1:], strict=True):
        assert (np.diff(plan.documents[first:end]) > 0).all()


def test_a_seed_decides_which_of_equal_documents_share_a_row_and_the_order_of_rows() -> None:
    lengths, chunks = np.full(64, 16, np.int64), np.ones(64, np.int64)
    plans = [plan_rows("best_fit", lengths, chunks, limits=LIMITS, seed=seed) for seed in range(3)]
    assert len({tuple(plan.documents.tolist()) for plan in plans}) == 3
    assert {plan.rows for plan in plans} == {16}


def test_rows_do_not_follow_the_order_of_lengths() -> None:
    lengths = np.repeat(np.arange(33, 65), 4)
    plan = plan_rows("best_fit", lengths, np.ones_like(lengths), limits=LIMITS, seed=1)
    totals = _sums(plan, lengths)
    assert totals != sorted(totals) and totals != sorted(totals, reverse=True)


@pytest.mark.parametrize(("median", "sigma"), [(150, 1.0), (400, 1.0), (700, 1.2), (1500, 1.0)])
@pytest.mark.parametrize("tokens_per_chunk", [100, 20])
def test_rows_stay_close_to_the_lower_bound_of_both_limits(median: int, sigma: float, tokens_per_chunk: int) -> None:
    rng = np.random.default_rng(0)
    lengths = np.clip(np.round(rng.lognormal(math.log(median), sigma, 20_000)), 8, 4096).astype(np.int64)
    chunks = np.minimum(128, 1 + rng.poisson(lengths / tokens_per_chunk))
    limits = RowLimits.of(4096)
    bound = max(-(-int(lengths.sum()) // limits.tokens), -(-int(chunks.sum()) // limits.chunks))
    assert plan_rows("best_fit", lengths, chunks, limits=limits, seed=42).rows <= bound * 1.01 + 2


def test_a_cap_on_chunks_that_short_documents_near_costs_no_more_than_a_twentieth_of_a_point() -> None:
    rng = np.random.default_rng(0)
    long, short = rng.integers(2000, 3900, 4000), rng.integers(300, 1000, 6000)
    lengths = np.concatenate([long, short])
    chunks = np.concatenate([long // rng.integers(35, 90, 4000), short // rng.integers(20, 50, 6000)])
    capped = plan_rows("best_fit", lengths, chunks, limits=RowLimits.of(4096), seed=0)
    free = plan_rows("best_fit", lengths, np.zeros_like(chunks), limits=RowLimits.of(4096), seed=0)
    assert 100 * int(lengths.sum()) / 4096 * (1 / free.rows - 1 / capped.rows) <= 0.05


def test_a_document_longer_than_the_row_is_rejected_by_name() -> None:
    with pytest.raises(PackOverflow, match=r"fmt:abc; expected at most 64 tokens in one row; found 65 tokens"):
        plan_rows(
            "best_fit", np.array([3, 65]), np.array([1, 1]), limits=LIMITS, seed=0, name_of=["x", "fmt:abc"].__getitem__
        )


def test_a_document_with_more_chunks_than_the_cap_is_rejected_by_name() -> None:
    with pytest.raises(PackOverflow, match=r"document 0; expected at most 10 chunks in one row; found 11 chunks"):
        plan_rows("best_fit", np.array([30, 5]), np.array([11, 1]), limits=LIMITS, seed=0)


def test_an_empty_document_and_rows_wider_than_the_key_are_rejected() -> None:
    with pytest.raises(PackOverflow, match="at least one token"):
        plan_rows("best_fit", np.array([3, 0]), np.array([1, 1]), limits=LIMITS, seed=0)
    with pytest.raises(SpecError, match="131,072"):
        plan_rows("best_fit", np.array([3]), np.array([1]), limits=RowLimits.of(1 << 17), seed=0)


def test_no_documents_make_no_rows() -> None:
    assert plan_rows("best_fit", np.empty(0, np.int64), np.empty(0, np.int64), limits=LIMITS, seed=0).rows == 0


def test_the_chunk_cap_is_the_one_that_loader_and_model_share() -> None:
    assert RowLimits.of(4096) == RowLimits(4096, 128)
    assert RowLimits.of(65_536) == RowLimits(65_536, 2048)


@pytest.mark.parametrize("row_tokens", [4096, 16_384, 65_536])
def test_every_phase_length_packs_documents_of_exactly_the_row(row_tokens: int) -> None:
    lengths = np.array([row_tokens, 1, row_tokens - 1, row_tokens // 2, row_tokens // 2])
    plan = plan_rows("best_fit", lengths, np.ones_like(lengths), limits=RowLimits.of(row_tokens), seed=0)
    assert _sums(plan, lengths) == [row_tokens] * 3
