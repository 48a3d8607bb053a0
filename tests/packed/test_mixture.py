"""Mixture weights: uniform base, over-sampled specialists, fractions decided by document id alone."""

from __future__ import annotations

import numpy as np
import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.packed.mixture import repetitions, repository_weight

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
    assert repetitions(iter(()), 3, 4.0).tolist() == [4, 4, 4]


def test_a_fraction_is_met_on_average() -> None:
    times = repetitions(IDS, len(IDS), 2.25)
    assert set(times.tolist()) == {2, 3}
    assert abs(float(times.mean()) - 2.25) < 0.03


def test_a_fraction_depends_on_neither_order_nor_company() -> None:
    times = repetitions(IDS, len(IDS), 0.5)
    assert repetitions(reversed(IDS), len(IDS), 0.5).tolist() == times.tolist()[::-1]
    assert repetitions(IDS[::7], len(IDS[::7]), 0.5).tolist() == times[::7].tolist()


def test_a_larger_weight_never_takes_a_document_less_often() -> None:
    assert np.all(repetitions(IDS, len(IDS), 1.4) <= repetitions(IDS, len(IDS), 1.6))


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_that_is_no_positive_number_is_refused(weight: float) -> None:
    with pytest.raises(SpecError, match="positive finite"):
        repetitions(IDS, len(IDS), weight)
