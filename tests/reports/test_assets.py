"""The reports as assets, over the history of a small library: Dagster builds them as the command does.

One build for both: what Dagster is given, and documents of history by rule, whose counts are those of the manifests.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.defs.keys import report_key
from megacpp_assets.defs.reports.assets import build_reports
from megacpp_assets.defs.reports.graph import GRAPH_FILE
from megacpp_assets.defs.showing.paths import DOCS_PAGE
from megacpp_assets.reports.hardened import open_database
from megacpp_assets.reports.summary import summaries
from megacpp_assets.storage.artifact import open_artifact
from tests.commits.repository import make_history
from tests.pipeline.roots import succeed

TABLES, TESTS = 26, 71
RECIPE = """dataset = "mine"
catalogue = "./catalogue.toml"
repos = ["lib"]
curriculum = ["16k"]

[phases.16k]
row_tokens = 16384
document_tokens = 16384
blend = { v3_simple = 1.0, v4 = 1.0 }

[tokenizer]
vocabulary_size = 7200
"""
HELPERS = "".join(f"int helper_{n}(int x) {{ return x * {n} + {n * n}; }}\n" for n in range(40))
UNSEALED = "curated/mine/lib@v2"


def _files(added: int, alone: int) -> dict[str, bytes]:
    code = f"{HELPERS}int used(int x) {{ return helper_1(x) + {added}; }}\nint alone = {alone};\n"
    return {"lib.cc": code.encode(), "LICENSE": b"MIT"}


@dataclass(frozen=True, slots=True)
class Ran:
    """A data root, what the run that filled it said, and what Dagster was given."""

    root: Path
    said: str
    made: dg.ExecuteInProcessResult


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A data root with the history of a small library, a folder that is not whole, and all its reports."""
    folder = tmp_path_factory.mktemp("history")
    root = folder / "data"
    make_history(folder / "lib", [*(("Add to used", _files(n, 1)) for n in range(3)), ("Set alone", _files(2, 2))])
    (folder / "catalogue.toml").write_text(f'[repo.lib]\nurl = "{folder / "lib"}"\nref = "v1"\nlicense = "MIT"\n')
    (folder / "mine.toml").write_text(RECIPE)
    said = succeed(root, "run", "--recipe", str(folder / "mine.toml"), "--until", "v6_enriched")
    shutil.copytree(root / "curated" / "mine" / "lib@v1", root / UNSEALED)
    (root / UNSEALED / COMPLETE_FILE).unlink()
    return Ran(root, said, dg.materialize([build_reports(root, [])], raise_on_error=False))


def test_the_graph_is_what_dagster_dbt_reads_from_the_project(ran: Ran) -> None:
    """After a deliberate change: `python -m tests.defs.reports.graph`."""
    from tests.defs.reports.graph import text  # dbt, which only the worker of this test shall import

    assert GRAPH_FILE.read_text(encoding="utf-8") == text(ran.root)


def test_every_table_is_an_asset_and_every_test_a_check(ran: Ran) -> None:
    assert ran.made.success
    assert len(ran.made.get_asset_materialization_events()) == TABLES
    assert len(ran.made.get_asset_check_evaluations()) == TESTS


def test_a_failed_test_is_a_red_check_with_its_rows(ran: Ran) -> None:
    failed = {each.check_name: each for each in ran.made.get_asset_check_evaluations() if not each.passed}
    evaluation = failed["every_folder_is_a_whole_artifact"]
    assert evaluation.severity is dg.AssetCheckSeverity.ERROR
    assert evaluation.metadata["failing rows"] == dg.MetadataValue.int(1)
    assert "every_folder_is_a_whole_artifact" in str(evaluation.metadata["failing rows are in"].value)


def test_no_other_test_fails_where_documents_of_commits_are_tokenized(ran: Ran) -> None:
    failed = [each.check_name for each in ran.made.get_asset_check_evaluations() if not each.passed]
    assert failed == ["every_folder_is_a_whole_artifact"]
    with open_database(ran.root) as connection:
        rows = connection.execute("SELECT DISTINCT document_set, budget FROM staging.stg_documents").fetchall()
        replicated = connection.execute("SELECT count(*), max(replication) FROM marts.replication").fetchone()
    assert set(rows) == {("16384", 16384), ("v3_simple_16384", 16384), ("v4_16384", 16384)}
    assert replicated is not None and replicated[0] == 1 and replicated[1] < 2


def test_a_table_shows_its_first_rows_and_leads_to_its_docs(ran: Ran) -> None:
    made_of = {each.asset_key: each.metadata for each in ran.made.asset_materializations_for_node("quality")}
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


def _made(root: Path) -> dict[str, dict[str, int]]:
    """The documents and what each rule left out, by set, as the manifests have them."""
    paths = ("commit_documents/mine/lib@v1", "commit_windows/mine/lib@v1")
    sets = [item for path in paths for item in open_artifact(root, path).manifest.stats["budgets"].items()]
    return {name: {"documents": counts["documents"], **counts["left_out"]} for name, counts in sets}


def test_the_table_of_history_has_the_counts_of_the_manifests(ran: Ran) -> None:
    with open_database(ran.root) as connection:
        query = "SELECT dataset, partition_key, document_set, rule, items FROM marts.history_by_rule"
        rows = connection.execute(query).fetchall()
    expected = _made(ran.root)
    assert sorted(rows) == sorted(
        ("mine", "lib@v1", name, rule, items) for name, rules in expected.items() for rule, items in rules.items()
    )
    assert expected["v4_16384"]["no function modified"] == 1


def test_a_run_says_what_it_made_of_history_and_what_each_rule_left_out(ran: Ran) -> None:
    lines = " ".join(ran.said.split())
    for name, counts in _made(ran.root).items():
        rules = {rule: items for rule, items in counts.items() if rule != "documents"}
        assert f"{name}: {counts['documents']} documents; left out: {'' if rules else 'none'}" in lines
        assert all(f"{rule} {items}" in lines for rule, items in rules.items())


def test_the_summary_has_one_line_of_history(ran: Ran) -> None:
    (line,) = [text for label, text in summaries(ran.root)["mine"] if label == "history"]
    for name, counts in _made(ran.root).items():
        assert f"{name} {counts['documents']} of {sum(counts.values())}" in line
    assert "; most were left out by: " in line
