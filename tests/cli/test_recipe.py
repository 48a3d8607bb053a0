"""`megacpp recipe show`: a recipe whole, as one can start one's own from, with the size of its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.recipe_text import load_recipe
from tests.cli.commands import exit_code


def test_what_is_shown_can_be_followed_and_begins_with_the_size_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not exit_code(monkeypatch, "recipe", "show", "smoke", "--set", "training.hidden=64")
    shown = capsys.readouterr().out
    (tmp_path / "mine.toml").write_text(shown)
    assert load_recipe(str(tmp_path / "mine.toml")) == load_recipe("smoke", ["training.hidden=64"])
    assert shown.startswith("# a model of ") and shown.splitlines()[0].endswith(" parameters")


def test_a_setting_without_a_recipe_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert exit_code(monkeypatch, "recipe", "show", "--set", "training.steps=9", "--data-root", str(tmp_path)) == 2
