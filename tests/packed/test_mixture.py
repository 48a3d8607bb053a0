"""Mixture weights: uniform base, over-sampled specialists, exact totals, fractions drawn by seed and document id."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.packed.mixture import entries, repetitions, repository_weight

IDS = [f"doc-{index}" for index in range(4000)]


def test_the_base_model_takes_every_repository_once() -> None:
    assert repository_weight("fmt", {}, split=TRAIN_SPLIT) == 1.0


def test_a_specialist_takes_each_repository_by_its_weight_and_others_once() -> None:
    weights = {"fmt": 4.0, "boost": 0.5}
    taken = [repository_weight(repo, weights, split=TRAIN_SPLIT) for repo in ("fmt", "boost", "folly")]
    assert taken == [4.0, 0.5, 1.0]


def test_validation_documents_are_taken_once_by_every_specialist() -> None:
    assert repository_weight("fmt", {"fmt": 4.0}, split=VALID_SPLIT) == 1.0


def test_a_whole_weight_needs_no_ids() -> None:
    assert repetitions(iter(()), 3, 4.0, 0).tolist() == [4, 4, 4]


@given(st.integers(0, 300), st.floats(0.01, 6), st.integers(0, 9))
def test_a_fraction_is_met_exactly(count: int, weight: float, seed: int) -> None:
    times = repetitions(IDS[:count], count, weight, seed)
    assert abs(times.sum() - weight * count) <= 0.5 and times.sum() == entries(count, weight)
    assert set(times.tolist()) <= {math.floor(weight), math.ceil(weight)}


def test_half_of_an_odd_number_is_the_larger_half() -> None:
    assert [entries(count, 0.5) for count in range(5)] == [0, 1, 1, 2, 2]


def test_a_fraction_does_not_depend_on_the_order_of_the_documents() -> None:
    times = repetitions(IDS, len(IDS), 0.5, 0)
    assert repetitions(reversed(IDS), len(IDS), 0.5, 0).tolist() == times.tolist()[::-1]


def test_another_seed_draws_other_documents() -> None:
    one, other = (repetitions(IDS, len(IDS), 0.5, seed) for seed in (0, 1))
    assert 1800 < (one == other).sum() < 2200


def test_a_larger_weight_never_takes_a_document_less_often() -> None:
    assert np.all(repetitions(IDS, len(IDS), 1.4, 0) <= repetitions(IDS, len(IDS), 1.6, 0))


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_that_is_no_positive_number_is_rejected(weight: float) -> None:
    with pytest.raises(SpecError, match="positive finite"):
        repetitions(IDS, len(IDS), weight, 0)
