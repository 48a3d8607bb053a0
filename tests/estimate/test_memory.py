"""A forecast of memory is one that a machine can have: a few small runs say nothing about a large repository."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from megacpp_assets.estimate.memory import FULL_BATCHES, fit_peaks, peak_of
from megacpp_assets.pipeline.stages import INDEX

_SAMPLE = [(1.0, 18.0, 0.035, 0.0), (1.0, 9.0, 0.0, 0.057)]
_LINUX = (1.0, 60_000.0, 1_400.0, 0.0)


def test_one_small_step_is_no_rate_for_a_large_repository() -> None:
    coefficients = fit_peaks("v6_enriched", _SAMPLE[:1], [3e8])
    assert peak_of("v6_enriched", coefficients, 3e8, _SAMPLE[0]) == approx(3e8)
    assert peak_of("v6_enriched", coefficients, 3e8, _LINUX) <= FULL_BATCHES


def test_the_peak_lies_on_a_line_from_the_smallest_peak_to_that_of_the_largest_step() -> None:
    features = [(1.0, 1.0), (1.0, 3.0), (1.0, 5.0)]
    coefficients = fit_peaks("packed_rows", features, [4e8, 3e8, 8e8])
    assert [peak_of("packed_rows", coefficients, 8e8, each) for each in features] == approx([4e8, 6e8, 8e8])


def test_a_line_through_small_steps_ends_at_full_batches() -> None:
    coefficients = fit_peaks("v6_enriched", _SAMPLE, [3e8, 4e8])
    assert peak_of("v6_enriched", coefficients, 4e8, _LINUX) == FULL_BATCHES


def test_indexing_needs_at_most_twelve_bytes_more_for_each_character() -> None:
    coefficients = fit_peaks(INDEX, _SAMPLE, [3.6e8, 4.1e8])
    assert peak_of(INDEX, coefficients, 4.1e8, _LINUX) == approx(FULL_BATCHES + 12 * 1.4e9)


def test_what_is_known_to_grow_grows_although_only_one_step_was_measured() -> None:
    coefficients = fit_peaks("tokenizer", [(1.0, 0.4)], [3e8])
    assert peak_of("tokenizer", coefficients, 3e8, (1.0, 1_400.0)) == approx(3e8 + 1.4e9)


def test_a_larger_peak_that_was_measured_raises_the_limit() -> None:
    coefficients = fit_peaks("packed_rows", [(1.0, 1.0), (1.0, 100.0)], [1e9, 9e9])
    assert peak_of("packed_rows", coefficients, 9e9, (1.0, 1_000.0)) == approx(9e9)


@pytest.mark.parametrize("stage", [INDEX, "v6_enriched"])
@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100), st.floats(1e7, 1e10)), min_size=1, max_size=9),
    st.floats(0, 2_000),
)
def test_a_forecast_is_never_below_the_smallest_peak_nor_above_the_limit(
    stage: str, measured: list[tuple[float, float, float]], megabytes: float
) -> None:
    features, peaks = [(1.0, 5.0, c, cpp) for c, cpp, _ in measured], [peak for *_, peak in measured]
    found = peak_of(stage, fit_peaks(stage, features, peaks), max(peaks), (1.0, 5.0, megabytes, 0.0))
    growth = 12e6 * megabytes if stage == INDEX else 0.0
    assert min(peaks) * 0.999 <= found <= (max(FULL_BATCHES, *peaks) + growth) * 1.001
