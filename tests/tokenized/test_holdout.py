"""Tests of the choice of validation documents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.tokenized.holdout import Holdout, draw, holdout_of


def test_about_one_document_in_a_hundred_validates() -> None:
    assert 900 < sum(Holdout().holds(f"document {index}") for index in range(100_000)) < 1100


@given(st.sets(st.text(max_size=9), min_size=2, max_size=9))
def test_with_two_documents_or_more_one_validates_whatever_their_order(ids: set[str]) -> None:
    rule = holdout_of(sorted(ids))
    assert rule.holds(min(ids, key=draw))
    assert rule == holdout_of(sorted(ids, reverse=True))


def test_the_only_document_of_a_repository_trains() -> None:
    assert not holdout_of(["fmt@11.0.0:src/format.cc:0"]).holds("fmt@11.0.0:src/format.cc:0")
    assert not holdout_of([]).holds("fmt@11.0.0:src/format.cc:0")
