"""Tests of a recipe's values: what cannot be is refused by its key."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.documents import MixtureRecipe, SemanticRecipe, SourcesRecipe, TokenizerRecipe
from megacpp_assets.contract.recipe.rows import PackingRecipe, PhaseRecipe, standard_phases
from megacpp_assets.contract.recipe.text import load_recipe, parse_recipe, recipe_toml
from megacpp_assets.contract.recipe.whole import Recipe


def test_a_vocabulary_smaller_than_the_fixed_band_is_rejected() -> None:
    with pytest.raises(SpecError, match="at least 7200"):
        TokenizerRecipe(vocabulary_size=7199)


@pytest.mark.parametrize(
    "wrong",
    [{"file_cpu_seconds": 3}, {"repository_cpu_seconds": 0}, {"unit_cpu_seconds": -1}, {"wall_per_cpu": 0},
     {"failed_files_per_cent": 101.0}, {"failed_files_per_cent": -1.0},
     {"left_out_per_cent": 100.5}],
)  # fmt: skip
def test_a_budget_that_lets_nothing_through_is_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=rf"^semantic\.{next(iter(wrong))}; expected .*; found "):
        SemanticRecipe(**wrong)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "many"])
def test_a_limit_of_sources_that_is_no_whole_number_is_rejected_by_its_key(value: int) -> None:
    with pytest.raises(SpecError, match=r"sources.entries; expected (a whole number: )?at least 1; found "):
        SourcesRecipe(entries=value)


def _recipe(*curriculum: str, **phases: PhaseRecipe) -> Recipe:
    return Recipe("mine", "sample", ("sample-format",), curriculum, {**standard_phases(), **phases})


def test_documents_are_made_once_for_each_budget_of_the_curriculum() -> None:
    assert _recipe("4k").budgets == (4096,)
    assert _recipe("64k", "structure", "4k", "16k").budgets == (4096, 16_384, 65_536)
    assert _recipe("8k", **{"8k": PhaseRecipe(8192, 8000)}).budgets == (8000,)


def test_a_phase_that_nobody_makes_documents_for_is_rejected_and_one_that_shares_a_budget_is_not() -> None:
    assert _recipe("4k").phase("structure").document_tokens == 4096
    with pytest.raises(
        SpecError, match=r"phases.64k.document_tokens; expected the budget of .*: 4096; found 65536; .*add"
    ):
        _recipe("4k").phase("64k")


def test_a_phase_whose_documents_do_not_fit_its_rows_is_rejected_by_its_key() -> None:
    with pytest.raises(
        SpecError,
        match=r"phases.long.row_tokens; expected 8192 \(its document_tokens, as .* is refuse\) .*; found 4096",
    ):
        _recipe("4k", long=PhaseRecipe(4096, 8192))


def test_documents_may_be_longer_than_rows_where_the_recipe_says_what_becomes_of_them() -> None:
    phases = {**standard_phases(), "long": PhaseRecipe(4096, 8192)}
    for overflow, limit in (("split", 4096), ("file", 8192)):
        packing = PackingRecipe(overflow=overflow)
        recipe = Recipe("mine", "sample", ("sample-format",), ("long",), phases, packing=packing)
        assert (recipe.budgets, recipe.token_limit(8192)) == ((8192,), limit)


@pytest.mark.parametrize("key", ["strategy", "overflow"])
def test_a_way_of_packing_that_there_is_not_is_rejected_by_its_key(key: str) -> None:
    with pytest.raises(SpecError, match=rf"packing.{key}; expected .* or .*; found 'crop'"):
        PackingRecipe(**{key: "crop"})


def _blending(**blend: float) -> Recipe:
    return _recipe("4k", "16k", **{"16k": PhaseRecipe(16_384, 16_384, blend=blend)})


def test_a_phase_takes_documents_of_others_by_their_budget() -> None:
    assert _blending(**{"4k": 0.5}).blend("16k") == {4096: 0.5}
    assert _blending(**{"4k": 0.5}).blend("4k") == {}


@pytest.mark.parametrize(
    ("blend", "words"),
    [
        ({"64k": 1.0}, r"phases.16k.blend.64k; expected a phase whose documents fit its rows: 4k, structure; .*'64k'"),
        ({"16k": 1.0}, r"phases.16k.blend.16k; expected a phase whose documents fit"),
        (
            {"4k": 1.0, "structure": 1.0},
            r"blend.structure; expected documents of another budget; found 4096",
        ),
        ({"4k": 0.0}, r"phases.16k.blend.4k; expected a positive finite number; found 0.0"),
    ],
)
def test_what_no_phase_can_take_is_rejected_by_its_key(blend: dict[str, float], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        _blending(**blend)


def test_a_phase_that_takes_documents_which_nobody_makes_is_rejected_where_it_is_asked_for() -> None:
    recipe = _recipe("16k", **{"16k": PhaseRecipe(16_384, 16_384, blend={"4k": 0.5})})
    with pytest.raises(SpecError, match=r"phases.16k.blend.4k; expected the budget of .*: 16384; found 4096; .*add 4k"):
        recipe.phase("16k")


def test_a_category_that_there_is_not_is_rejected_with_those_there_are() -> None:
    with pytest.raises(SpecError, match=r"mixture.categories.games; expected one of os_kernels, .*; found 'games'"):
        MixtureRecipe(categories={"games": 2.0})
    with pytest.raises(SpecError, match=r"mixture.categories.crypto; expected a positive finite number; found -1"):
        MixtureRecipe(categories={"crypto": -1.0})


def test_a_phase_takes_dataset_versions_of_its_own_budget() -> None:
    blends = (
        "phases.16k.blend={ v3_simple = 2.0, 4k = 1.0, v4 = 1.0, v5 = 0.5 }",
        "phases.4k.blend={ v2_doxygen = 0.5 }",
    )
    settings = ("curriculum=['4k', '16k']", *blends)
    recipe = load_recipe("sample", settings)
    assert recipe.versions == ("v2_doxygen", "v3_simple", "v4", "v5")
    assert (recipe.commit_versions, recipe.window_sets) == (("v2_doxygen", "v3_simple"), ("v4_16384", "v5_16384"))
    assert recipe.document_sets == (4096, 16_384, "v2_doxygen_4096", "v3_simple_16384", "v4_16384", "v5_16384")
    assert recipe.blend("16k") == {"v3_simple_16384": 2.0, 4096: 1.0, "v4_16384": 1.0, "v5_16384": 0.5}
    assert parse_recipe(tomllib.loads(recipe_toml(recipe)), "again") == recipe


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("history.since=yesterday or so", "history.since; expected YYYY-MM-DD or a tag"),
        ("history.drift=1.5", "history.drift; expected 0 to 1; found 1.5"),
        ("history.denied_commits=['fmt:abc']", "history.denied_commits; expected NAME:COMMIT of 40 hexadecimal digits"),
        ("phases.v3_simple.row_tokens=4096", "phases.v3_simple; expected another name than a dataset version"),
    ],
)
def test_an_invalid_bound_of_history_is_rejected_by_its_key(setting: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        load_recipe("sample", (setting,))


@pytest.mark.parametrize(
    ("catalogue", "repositories", "setting", "found"),
    [
        ("upstream", 8, "by_catalogue", "report"),
        ("extended", 1, "by_catalogue", "report"),
        ("extended", 2, "by_catalogue", "drop_near"),
        ("extended", 2, "report", "report"),
        ("upstream", 2, "drop_exact", "drop_exact"),
    ],
)
def test_near_duplicates_are_reported_and_across_the_catalogue_left_out(
    catalogue: str, repositories: int, setting: str, found: str
) -> None:
    mixture = MixtureRecipe(duplicates=setting, definitions=setting)
    recipe = replace(load_recipe("sample"), catalogue=catalogue, mixture=mixture)
    assert (recipe.duplicates(repositories), recipe.definitions(repositories)) == (found, found)
    assert load_recipe("sample").mixture == MixtureRecipe(duplicates="by_catalogue", definitions="by_catalogue")
