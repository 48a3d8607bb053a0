"""Finding a launcher by the name that a recipe gives."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.launcher import AttemptOrder
from megacpp_assets.launch.launchers.local import Local
from megacpp_assets.launch.registry import launcher_for, launcher_names, open_launcher
from megacpp_assets.training.job import TrainingJob
from megacpp_assets.training.tpu import PLATFORM_VARIABLE
from tests.training.world import tiny_root, tiny_spec


def test_a_launcher_is_a_file_of_its_folder() -> None:
    assert "local" in launcher_names()
    assert isinstance(open_launcher(LaunchRecipe()), Local)


@pytest.mark.parametrize("name", ["lokal", "../local", "os", ""])
def test_another_name_is_rejected_with_those_there_are(name: str) -> None:
    with pytest.raises(SpecError, match=rf"launch.launcher '{re.escape(name)}'; .*local"):
        open_launcher(LaunchRecipe(name))


def test_a_setting_that_the_launcher_does_not_know_is_rejected() -> None:
    with pytest.raises(SpecError, match="key 'queue'; expected a name that exists; found none at all"):
        open_launcher(LaunchRecipe("local", settings={"queue": "gpu"}))


@pytest.mark.parametrize("launcher", launcher_names())
@pytest.mark.parametrize("text", ["a\nrm -rf x", "a\rb", "a\x00b", "a\u2028b", "a\x1b[2Jb"])
def test_a_setting_with_a_line_break_or_control_character_is_rejected_for_every_launcher(
    launcher: str, text: str
) -> None:
    for key in ("partition", "account", "options", "scratch", "python", "image", "node_selector"):
        with pytest.raises(SpecError, match=rf"launch.settings.{key}; expected printable characters only"):
            LaunchRecipe(launcher, settings={key: text})
    with pytest.raises(SpecError, match=r"launch.exchange; expected printable characters only"):
        LaunchRecipe(launcher, exchange=f"gs://bucket/{text}")


@pytest.mark.parametrize("setting", ["time_minutes", "memory_gib"])
def test_a_negative_number_is_rejected(setting: str) -> None:
    with pytest.raises(SpecError, match=rf"launch.settings.{setting}; expected at least 0; found -5"):
        open_launcher(LaunchRecipe("slurm", exchange="file:///shared", settings={setting: -5}))


@pytest.mark.parametrize("exchange", ["shared/exchange", "/shared/exchange", "file://shared/x", "file:///", "s3://b/x"])
def test_an_exchange_that_another_machine_would_not_find_is_rejected(exchange: str) -> None:
    with pytest.raises(SpecError, match=r"launch.exchange; expected file:///FOLDER or gs://BUCKET/FOLDER; found"):
        open_launcher(LaunchRecipe("slurm", exchange=exchange))


def test_an_exchange_that_a_launcher_has_no_use_for_is_rejected() -> None:
    with pytest.raises(SpecError, match=r"launch.exchange of the launcher local; expected none"):
        open_launcher(LaunchRecipe("local", exchange="gs://bucket/folder"))


def test_a_recipe_on_tpus_is_rejected_where_this_machine_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PLATFORM_VARIABLE, raising=False)
    spec = tiny_spec(tiny_root(tmp_path), device="tpu")
    launcher, order = launcher_for(spec.launch, spec.recipe), AttemptOrder(TrainingJob.of(spec), 1, tmp_path.as_uri())
    assert "megacpp_assets.training.trainer" in launcher.plan(order), "what would be asked for can be seen"
    with pytest.raises(EnvironmentLacks, match=r"training.device tpu; expected .*; found no"):
        launcher.submit(order)


def test_a_package_that_only_this_launcher_needs_is_named_where_it_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("kubernetes", "megacpp_assets.launch.launchers.kubernetes", "megacpp_assets.launch.providers.pods"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(EnvironmentLacks, match=r"pip install 'megacpp-assets\[kubernetes\]'"):
        open_launcher(LaunchRecipe("kubernetes", exchange="gs://bucket/x", settings={"image": "x"}))
