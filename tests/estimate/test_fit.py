"""Costs are fitted as sums of features, none of which can cost less than nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from megacpp_assets.estimate.fit import apply, fit, left_out_errors

_FEATURES = [
    (1.0, c, cpp, size) for c, cpp, size in ((3, 0, 0.1), (0, 9, 0.4), (40, 2, 1.5), (7, 70, 2.0), (90, 9, 0.7))
]
_FEATURES += [(1.0, 11.0, 30.0, 5.0), (1.0, 300.0, 0.0, 3.0), (1.0, 0.0, 200.0, 1.0), (1.0, 5.0, 5.0, 9.0)]


@given(st.tuples(*[st.floats(0.01, 100)] * 4))
def test_coefficients_that_made_the_values_are_found_again(made: tuple[float, ...]) -> None:
    values = [apply(made, features) for features in _FEATURES]
    found = fit(_FEATURES, values)
    assert [apply(found, features) for features in _FEATURES] == approx(values, rel=1e-4)
    assert max(left_out_errors(_FEATURES, values)) < 1e-2


@given(st.lists(st.floats(0, 1e9), min_size=len(_FEATURES), max_size=len(_FEATURES)))
def test_no_coefficient_is_negative_whatever_was_measured(values: list[float]) -> None:
    assert min(fit(_FEATURES, values)) >= 0


def test_one_step_gives_a_rate_for_its_text_and_no_error() -> None:
    assert fit([(1.0, 2.0, 3.0, 0.5)], [10.0]) == (0.0, 0.0, 0.0, 20.0)
    assert left_out_errors([(1.0, 2.0, 3.0, 0.5)], [10.0]) == []


def test_a_large_step_does_not_hide_the_error_of_a_small_one() -> None:
    features = [(1.0, 1.0), (1.0, 2.0), (1.0, 4.0), (1.0, 1000.0)]
    found = fit(features, [11.0, 12.0, 14.0, 1010.0])
    assert apply(found, (1.0, 1.0)) == approx(11.0, rel=0.01)
