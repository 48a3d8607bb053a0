"""A recipe that names a repository or a licence that nothing has is rejected: the name would have no effect."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.text import SHIPPED, changed_recipe, load_recipe, parse_recipe, recipe_toml

_REPOS = 'repos=["hiredis", "fmt@11.0.0"]'
_COMMIT = "0" * 40


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ('holdout.repositories=["hiredi"]', "holdout.repositories 'hiredi'; did you mean `hiredis`?"),
        ('holdout.repositories=["nosuch"]', "holdout.repositories 'nosuch'; expected one of hiredis, fmt"),
        ('history.denied_symbols=["nosuch:a.c:f"]', "history.denied_symbols 'nosuch'; expected one of hiredis, fmt"),
        (f'history.denied_commits=["fnt:{_COMMIT}"]', "history.denied_commits 'fnt'; did you mean `fmt`?"),
        ('promotion.failed_units={ "nosuch:a.c" = "old" }', "promotion.failed_units 'nosuch'; expected one of"),
    ],
)
def test_an_unknown_repository_is_rejected_by_its_key(setting: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_recipe("upstream", (_REPOS, "specialists={}", "promotion.failed_units={}", setting))
    assert words in str(caught.value) and "add the repository to repos" in str(caught.value)


def test_a_repository_of_the_recipe_may_be_named_everywhere() -> None:
    settings = (
        _REPOS,
        "specialists={}",
        'holdout.repositories=["fmt"]',
        f'history.denied_commits=["fmt:{_COMMIT}"]',
        'history.denied_symbols=["hiredis:a.c:f"]',
        'promotion.failed_units={ "hiredis:a.c" = "old" }',
    )
    assert load_recipe("upstream", settings).holdout.repositories == ("fmt",)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_recipe_names_what_exists(name: str) -> None:
    assert load_recipe(name).repos


def test_an_unknown_repository_is_reported_with_every_other_fault() -> None:
    with pytest.raises(SpecError) as caught:
        load_recipe("sample", ('holdout.repositories=["nosuch"]', "training.steps=many"))
    said = str(caught.value)
    assert "2 values are wrong" in said and "holdout.repositories 'nosuch'" in said and "training.steps;" in said


def test_a_kept_recipe_of_some_repositories_is_read_and_may_be_changed() -> None:
    whole = load_recipe(
        "sample", ('repos=["sample-kernel", "sample-format"]', 'holdout.repositories=["sample-kernel"]')
    )
    text = recipe_toml(whole).replace('repos = ["sample-kernel", "sample-format"]', 'repos = ["sample-format"]')
    kept = parse_recipe(tomllib.loads(text), "kept")
    assert changed_recipe(kept, ("training.steps=7",)).holdout.repositories == ("sample-kernel",)
    with pytest.raises(SpecError, match=r"holdout\.repositories 'nosuch'"):
        changed_recipe(kept, ('holdout.repositories=["nosuch"]',))


@pytest.mark.parametrize(
    ("pattern", "closest"),
    [
        ("MTI", "MIT"),
        ("mit", "MIT"),
        ("GPL-2.0", "GPL-2.0-only"),
        ("GPL-2.0-only WITH LLVM-exceptio", ""),
        ("GLP-*", ""),
    ],
)
@pytest.mark.parametrize("key", ["licenses_denied", "licenses_allowed"])
def test_a_pattern_that_no_licence_matches_is_rejected(key: str, pattern: str, closest: str) -> None:
    with pytest.raises(SpecError) as caught:
        load_recipe("sample", (f'curation.{key}=["{pattern}"]',))
    assert f"curation.{key} {pattern!r}" in str(caught.value)
    assert not closest or f"did you mean `{closest}`?" in str(caught.value)


@pytest.mark.parametrize(
    "pattern",
    ["MIT", "GPL-*", "*", "NOASSERTION", "LicenseRef-mine", "GPL-2.0-only WITH *", "Apache-2.0 WITH LLVM-exception"],
)
def test_a_pattern_that_a_licence_may_match_is_accepted(pattern: str) -> None:
    assert load_recipe("sample", (f'curation.licenses_denied=["{pattern}"]',)).curation.licenses_denied == (pattern,)


@pytest.mark.parametrize("text", ["2024-13-45", "2023-02-29"])
def test_a_date_that_no_calendar_has_is_rejected(text: str) -> None:
    with pytest.raises(SpecError, match=r"history\.since; expected a day of the calendar, or a tag; found"):
        load_recipe("sample", (f'history.since="{text}"',))
    assert load_recipe("sample", ('history.since="2024-02-29"',)).history.since_date == "2024-02-29"


def test_a_recipe_file_is_checked_as_a_setting_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    lines = ['dataset = "mine"', 'catalogue = "sample"', 'repos = ["sample-kernel"]', 'curriculum = ["4k"]']
    file.write_text("\n".join([*lines, "[holdout]", 'repositories = ["sample-kernal"]']))
    with pytest.raises(SpecError, match=r"mine\.toml: holdout\.repositories .*; did you mean `sample-kernel`"):
        load_recipe(str(file))
