"""Where the reports of a data root are, and where the dbt project that builds them is."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import megacpp_assets
from megacpp_assets.contract.errors import EnvironmentLacks

PROJECT_NAME: Final = "dbt_quality"
FOLDER: Final = "quality"
"""The folder below the data root. It can be rebuilt at any time."""


def database(root: Path) -> Path:
    """Return the DuckDB file with the raw tables, dbt's tables, and the rows that failed a test."""
    return root / FOLDER / "quality.duckdb"


def target(root: Path) -> Path:
    """Return what dbt writes about its work: manifest, results, compiled SQL, documentation."""
    return root / FOLDER / "target"


def docs(root: Path) -> Path:
    """Return the documentation: one page that contains everything and needs no server."""
    return target(root) / "static_index.html"


def page(root: Path) -> Path:
    """Return the page with the summary and its plots."""
    return root / FOLDER / "reports.html"


def project() -> Path:
    """Return the dbt project, from the installed package or the checkout. `EnvironmentLacks` if neither has it."""
    package = Path(megacpp_assets.__file__).parent
    places = (package / PROJECT_NAME, package.parent / PROJECT_NAME)
    for place in places:
        if (place / "dbt_project.yml").is_file():
            return place
    raise EnvironmentLacks(
        f"the dbt project {PROJECT_NAME}", expected=f"{places[0]} or {places[1]}", found="neither", do="install again"
    )
