"""Tests of a recipe's values: what cannot be is refused by its key."""

from __future__ import annotations

from typing import Any

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe import SemanticRecipe, SourcesRecipe, TokenizerRecipe


def test_a_vocabulary_smaller_than_the_fixed_band_is_refused() -> None:
    with pytest.raises(SpecError, match="at least 7200"):
        TokenizerRecipe(vocabulary_size=7199)


@pytest.mark.parametrize(
    "wrong",
    [{"file_cpu_seconds": 3}, {"repository_cpu_seconds": 0}, {"unit_cpu_seconds": -1}, {"wall_per_cpu": 0},
     {"failed_files_per_cent": 101.0}, {"failed_files_per_cent": -1.0}],
)  # fmt: skip
def test_a_budget_that_lets_nothing_through_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=rf"^semantic\.{next(iter(wrong))}; expected .*; found "):
        SemanticRecipe(**wrong)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "many"])
def test_a_limit_of_sources_that_is_no_whole_number_is_refused_by_its_key(value: int) -> None:
    with pytest.raises(SpecError, match=r"sources.entries; expected a whole number of at least 1; found "):
        SourcesRecipe(entries=value)
