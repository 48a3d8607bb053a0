"""The dbt project says what each of its tables and columns holds."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from megacpp_assets.reports.place import project

MODELS = sorted(project().glob("models/*/*.sql"))


def _models() -> dict[str, dict[str, Any]]:
    files = [*project().glob("models/staging/*.yml"), *project().glob("models/marts/*.yml")]
    return {model["name"]: model for file in files for model in yaml.safe_load(file.read_text())["models"]}


def test_every_model_is_described_and_no_other() -> None:
    assert sorted(_models()) == sorted(path.stem for path in MODELS)
    assert all(model["description"] for model in _models().values())


@pytest.mark.parametrize("name", sorted(_models()))
def test_every_column_of_a_model_is_described_in_a_sentence(name: str) -> None:
    columns = _models()[name]["columns"]
    assert columns and all(column["description"].endswith(".") for column in columns)


def test_telemetry_is_off_and_no_package_is_fetched() -> None:
    settings = yaml.safe_load((project() / "dbt_project.yml").read_text())
    assert settings["flags"]["send_anonymous_usage_stats"] is False
    assert not (project() / "packages.yml").exists()
