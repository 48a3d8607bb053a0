"""All faults of a recipe are one error: wrong keys, and repositories that its catalogue lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.pipeline.pins.checking import checked_recipe
from megacpp_assets.repos.sources import MIRROR_VARIABLE
from tests.repos.git_tree import make_repository

_MINE = 'dataset = "mine"\ncatalogue = "./own.toml"\nrepos = ["lib", "hiredi"]\ncurriculum = ["4k"]\n'
_LIB = '[repo.lib]\nurl = "/srv/lib"\nref = "v1"\nspecialist = "own"\n'
_HIREDIS = '[repo.hiredis]\nurl = "/srv/hiredis"\nref = "v1"\n'


def _write(folder: Path, catalogue: str) -> str:
    (folder / "own.toml").write_text(catalogue)
    (folder / "mine.toml").write_text(_MINE)
    return str(folder / "mine.toml")


def test_an_unknown_repository_is_reported_with_every_other_fault(tmp_path: Path) -> None:
    name = _write(tmp_path, _LIB + _HIREDIS)
    with pytest.raises(SpecError) as caught:
        checked_recipe(name, ("training.steps=many", "holdout.share=2"), tmp_path / "data")
    said = str(caught.value)
    assert said.startswith(f"{name}: 3 values are wrong")
    assert "\n  training.steps;" in said and "\n  holdout.share;" in said
    assert "\n  repository 'hiredi'; did you mean `hiredis`?" in said


def test_each_repository_that_cannot_be_used_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        checked_recipe(_write(tmp_path, '[repo.lib]\nurl = "/srv/lib"\n'), (), tmp_path / "data")
    assert "repo.lib.ref; expected a text; found nothing" in str(caught.value)
    assert "repository 'hiredi'" in str(caught.value)


def test_a_catalogue_that_cannot_be_read_is_reported_with_every_other_fault(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        checked_recipe(_write(tmp_path, "[repo.lib"), ("holdout.share=2",), tmp_path / "data")
    assert "own.toml; expected TOML" in str(caught.value) and "holdout.share;" in str(caught.value)


def test_what_the_launcher_rejects_is_reported_with_every_other_fault(tmp_path: Path) -> None:
    name = _write(tmp_path, _LIB + _HIREDIS)
    settings = ("launch.launcher=slurm", "launch.exchange=gs://bucket/place", "training.device=tpu")
    with pytest.raises(SpecError) as caught:
        checked_recipe(name, settings, tmp_path / "data")
    assert "training.device on the launcher slurm" in str(caught.value) and "repository 'hiredi'" in str(caught.value)


def test_a_recipe_without_faults_comes_with_the_entries_of_its_repositories(tmp_path: Path) -> None:
    name = _write(tmp_path, _LIB + _HIREDIS)
    recipe, entries = checked_recipe(name, ('repos=["lib@v2"]',), tmp_path / "data")
    assert recipe.repos == ("lib@v2",) and [entry.specialist for entry in entries] == ["own"]
    assert not (tmp_path / "data").exists()


_BOTH = ('repos=["lib", "hiredis"]',)


def test_a_tag_of_history_that_a_repository_on_this_machine_lacks_is_reported(tmp_path: Path) -> None:
    make_repository(tmp_path / "lib", {"a.cc": b"int a;\n"}, "v1")
    name = _write(tmp_path, f'[repo.lib]\nurl = "{tmp_path / "lib"}"\nref = "v1"\n{_HIREDIS}')
    checked_recipe(name, (*_BOTH, "history.since=v1"), tmp_path / "data")
    with pytest.raises(SpecError, match=f"no such tag of lib at {tmp_path / 'lib'}; what to do: correct history.since"):
        checked_recipe(name, (*_BOTH, "history.since=v0.9"), tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_tag_of_history_is_looked_for_in_a_local_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = _write(tmp_path, f'[repo.lib]\nurl = "https://example.com/owner/lib"\nref = "v1"\n{_HIREDIS}')
    settings = (*_BOTH, "history.since=v0.9")
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / "{owner}-{name}"))
    checked_recipe(name, settings, tmp_path / "data")  # the mirror does not have the repository
    make_repository(tmp_path / "owner-lib", {"a.cc": b"int a;\n"}, "v1")
    with pytest.raises(SpecError, match=r"no such tag of lib at https://example\.com/owner/lib"):
        checked_recipe(name, settings, tmp_path / "data")


def test_a_tag_of_history_that_the_embedded_repositories_lack_is_reported_before_they_are_written(
    tmp_path: Path,
) -> None:
    checked_recipe("sample", ("history.since=v1.0.0",), tmp_path / "data")
    with pytest.raises(SpecError, match="sample-kernel at sample://sample-kernel and 5 other repositories"):
        checked_recipe("sample", ("history.since=v9",), tmp_path / "data")


def test_a_date_of_history_and_a_tag_of_a_repository_elsewhere_are_accepted(tmp_path: Path) -> None:
    checked_recipe("sample", ("history.since=2024-01-31",), tmp_path / "data")
    checked_recipe("upstream", ("history.since=v9",), tmp_path / "data")
