"""Finding a launcher by the name that a recipe gives."""

from __future__ import annotations

import sys

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.contract.recipe.training import LaunchRecipe
from megacpp_assets.training.launch.launcher import names, open_launcher
from megacpp_assets.training.launchers.local import Local


def test_a_launcher_is_a_file_of_its_folder() -> None:
    assert "local" in names()
    assert isinstance(open_launcher(LaunchRecipe()), Local)


@pytest.mark.parametrize("name", ["lokal", "../local", "os", ""])
def test_another_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(SpecError, match=r"launch.launcher; expected .*local"):
        open_launcher(LaunchRecipe(name))


def test_a_setting_that_the_launcher_does_not_know_is_refused() -> None:
    with pytest.raises(SpecError, match=r"launch.settings.queue; expected one of none; found an unknown key"):
        open_launcher(LaunchRecipe("local", settings={"queue": "gpu"}))


def test_an_exchange_that_a_launcher_has_no_use_for_is_refused() -> None:
    with pytest.raises(SpecError, match=r"launch.exchange of the launcher local; expected none"):
        open_launcher(LaunchRecipe("local", exchange="gs://bucket/folder"))


def test_a_package_that_only_this_launcher_needs_is_named_where_it_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("kubernetes", "megacpp_assets.training.launchers.kubernetes", "megacpp_assets.training.launch.pods"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(EnvironmentLacks, match=r"pip install 'megacpp-assets\[kubernetes\]'"):
        open_launcher(LaunchRecipe("kubernetes", exchange="gs://bucket/x", settings={"image": "x"}))
