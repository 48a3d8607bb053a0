"""The reports as assets: the graph that dagster-dbt reads from the project, made by the call of the command line."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.defs.keys import report_key
from megacpp_assets.defs.reports.assets import build_reports
from megacpp_assets.defs.reports.graph import GRAPH_FILE
from megacpp_assets.defs.showing.paths import DOCS_PAGE
from tests.packed.enriched_documents import small_corpus

TABLES, TESTS = 26, 71


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a folder that is not whole."""
    found: Path = small_corpus(tmp_path_factory.mktemp("root"), count=8).root
    next(iter(sorted(found.rglob(COMPLETE_FILE)))).unlink()
    return found


@pytest.fixture(scope="module")
def made(root: Path) -> dg.ExecuteInProcessResult:
    """All its reports."""
    return dg.materialize([build_reports(root, [])], raise_on_error=False)


@pytest.mark.usefixtures("made")
def test_the_graph_is_what_dagster_dbt_reads_from_the_project(root: Path) -> None:
    """After a deliberate change: `python -m tests.defs.reports.graph`."""
    from tests.defs.reports.graph import text  # dbt, which only the worker of this test shall import

    assert GRAPH_FILE.read_text(encoding="utf-8") == text(root)


def test_every_table_is_an_asset_and_every_test_a_check(made: dg.ExecuteInProcessResult) -> None:
    assert made.success
    assert len(made.get_asset_materialization_events()) == TABLES
    assert len(made.get_asset_check_evaluations()) == TESTS


def test_a_failed_test_is_a_red_check_with_its_rows(made: dg.ExecuteInProcessResult) -> None:
    failed = {each.check_name: each for each in made.get_asset_check_evaluations() if not each.passed}
    evaluation = failed["every_folder_is_a_whole_artifact"]
    assert evaluation.severity is dg.AssetCheckSeverity.ERROR
    assert evaluation.metadata["failing rows"] == dg.MetadataValue.int(1)
    assert "every_folder_is_a_whole_artifact" in str(evaluation.metadata["failing rows are in"].value)


def test_a_table_shows_its_first_rows_and_leads_to_its_docs(made: dg.ExecuteInProcessResult) -> None:
    made_of = {each.asset_key: each.metadata for each in made.asset_materializations_for_node("quality")}
    shown = made_of[report_key("stg_artifacts")]
    assert isinstance(shown["first rows"], dg.TableMetadataValue) and shown["first rows"].records
    assert shown["columns and tests (dbt docs)"] == dg.MetadataValue.url(
        f"{DOCS_PAGE}#!/model/model.dbt_quality.stg_artifacts"
    )


def test_every_report_is_described_column_by_column(tmp_path: Path) -> None:
    for spec in build_reports(tmp_path, []).specs:
        assert spec.description and "Built by `megacpp quality`" in spec.description
        for column in spec.metadata["dagster/column_schema"].columns:
            assert column.type and column.description and column.description.endswith(".")
