"""The reports of a data root: green on what the line makes, red with each planted fault by name, and nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import dagster as dg
import pytest

from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.keys import report_key
from megacpp_assets.reports.hardened import open_database
from megacpp_assets.reports.place import database, docs, page, project
from megacpp_assets.reports.summary import summaries
from tests.pipeline.roots import megacpp_here
from tests.reports.roots import CHECKPOINT, CURATED, DATASET, ENRICHED, OTHER_TOKENIZER, PACKED, TEXT, UNSEALED, plant
from tests.shared_lines import LATER, SAID


@pytest.fixture(scope="module")
def green(reported_line: Path) -> tuple[Path, str]:
    """A root without faults, and what the command said of it. It is not changed here."""
    return reported_line, (reported_line.parent / SAID).read_text()


@pytest.fixture(scope="module")
def red(reported_line: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A copy with faults, and what the command said of it."""
    root = tmp_path_factory.mktemp("red") / "data"
    shutil.copytree(reported_line, root, symlinks=True)
    plant(root)
    done = megacpp_here(root, "quality")
    assert done.returncode == 1, done.stdout + done.stderr
    return root, done.stdout


def _ask(root: Path, query: str) -> list[tuple[object, ...]]:
    with open_database(root) as connection:
        return connection.execute(query).fetchall()


def test_a_good_root_is_green_without_configuration(green: tuple[Path, str]) -> None:
    root, said = green
    assert "0 failed" in said and "FAILED" not in said
    assert docs(root).stat().st_size > 1_000_000 and str(docs(root)) in said and str(database(root)) in said


def test_the_page_and_the_docs_show_the_summary_that_is_printed(green: tuple[Path, str]) -> None:
    root, said = green
    (packing,) = [sentence for label, sentence in summaries(root)[DATASET] if label == "packing"]
    assert packing in said and packing in page(root).read_text() and packing in docs(root).read_text()
    assert page(root).read_text().count("<svg") >= 4 and "MEGACPP_SUMMARY" not in docs(root).read_text()


def test_the_command_records_every_table_and_every_test_in_dagster(red: tuple[Path, str]) -> None:
    with open_instance(red[0]) as instance:
        run, green = instance.get_runs(dg.RunsFilter(job_name="quality__job"))
        events = [log.dagster_event for log in instance.all_logs(run.run_id) if log.dagster_event]
    checks = [event.asset_check_evaluation_data for event in events if event.event_type_value.endswith("EVALUATION")]
    tables = {event.asset_key for event in events if event.is_step_materialization}
    assert {run.status, green.status} == {dg.DagsterRunStatus.SUCCESS} and report_key("corpus_by_licence") in tables
    assert len(tables) == 26 and {check.check_name for check in checks if not check.passed}


def test_the_summary_of_a_corpus_fits_on_a_screen(green: tuple[Path, str]) -> None:
    root, said = green
    labels = [label for label, _ in summaries(root)[DATASET]]
    assert {"corpus", "licences", "categories", "packing", "duplicates", "index", "drift", "replication"} <= set(labels)
    assert 10 <= len(said.splitlines()) <= 24


def test_totals_are_those_of_the_manifests(green: tuple[Path, str]) -> None:
    sums = "sum((stats ->> 'tokens')::bigint), sum((stats ->> 'documents')::bigint)"
    [manifests] = _ask(green[0], f"SELECT {sums} FROM staging.stg_artifacts WHERE stage = 'tokenized_parquet'")
    [mart] = _ask(green[0], "SELECT sum(tokens), sum(documents) FROM marts.corpus_by_repository")
    assert mart == manifests
    [packed] = _ask(green[0], "SELECT sum(trained_tokens), sum(row_count) FROM marts.packing_utilisation")
    counted = "sum(trained_token_count), count(*)"
    assert [packed] == _ask(green[0], f"SELECT {counted} FROM raw.packed_rows")


def test_replication_is_what_the_semantic_stage_counted(green: tuple[Path, str]) -> None:
    """Up to split documents, whose stretches may stand in several parts. The stage counts all text of a document; the
    mart counts the bytes of files, so standard includes and lines that close conditions are in the first alone."""
    sums = "(stats -> 'budgets' -> '4096' ->> 'replication')::double"
    query = f"""
        WITH documents AS (
            SELECT dataset, partition_key, sum(text_bytes) AS text_bytes FROM staging.stg_documents GROUP BY ALL
        ), pieces AS (
            SELECT dataset, partition_key, unnest(constituent_provenance, recursive := true) FROM staging.stg_documents
        ), placed AS (
            SELECT dataset, partition_key, sum(byte_end - byte_start) AS bytes FROM pieces GROUP BY ALL
        )
        SELECT text_bytes / distinct_bytes / ({sums}), placed_bytes / text_bytes, placed_bytes / placed.bytes
        FROM marts.replication
        JOIN staging.stg_artifacts AS artifact USING (dataset, partition_key)
        JOIN documents USING (dataset, partition_key)
        JOIN placed USING (dataset, partition_key)
        WHERE artifact.stage = 'semantic_jsonl'
    """
    ratios = _ask(green[0], query)
    assert len(ratios) == 3 and all(0.99 <= ratio <= 1.01 for ratio, _, _ in ratios)
    assert all(0.9 <= of_files <= 1 and placed == 1 for _, of_files, placed in ratios)


def test_what_documents_are_worth_is_what_the_semantic_stage_counted(green: tuple[Path, str]) -> None:
    """The sample parses none of its documents by themselves: their share is null."""
    budget = "stats -> 'budgets' -> '4096' ->>"
    counted = f"({budget} 'root_share')::double, ({budget} 'context_recall')::double, ({budget} 'budget_use')::double"
    query = f"SELECT {counted} FROM staging.stg_artifacts WHERE stage = 'semantic_jsonl' ORDER BY partition_key"
    worth = "replication.root_share, context_recall, budget_use"
    rows = _ask(green[0], f"SELECT {worth} FROM marts.replication ORDER BY partition_key")
    assert rows == _ask(green[0], query) and len(rows) == 3
    assert all(value is not None and 0 < value <= 1 for row in rows for value in row)
    assert set(_ask(green[0], "SELECT coalesce(parsed_documents, 0), alone_share FROM marts.semantic_coverage")) == {
        (0, None)
    }


def test_a_later_tag_is_compared_with_the_one_before(green: tuple[Path, str]) -> None:
    query = "SELECT earlier_partition_key, partition_key, tokens_change FROM marts.tag_drift"
    [(before, after, change)] = _ask(green[0], query)
    sizes = dict(_ask(green[0], "SELECT partition_key, sum(tokens) FROM marts.corpus_by_repository GROUP BY 1"))
    assert (before, after, change) == (TEXT, LATER, sizes[LATER] - sizes[TEXT])


def test_every_planted_fault_is_a_failed_test_and_no_other_test_fails(red: tuple[Path, str]) -> None:
    failed = [line.split()[1].rstrip(":") for line in red[1].splitlines() if line.startswith("FAILED")]
    assert sorted(failed) == sorted(
        [
            "accepted_values_check_results_failed__False__0",
            "accepted_values_duplicates_texts_on_both_sides__False__0",
            "blocking_checks_passed",
            "dropped_files_have_a_reason",
            "enriched_documents_are_the_tokenized",
            "every_folder_is_a_whole_artifact",
            "inputs_are_what_they_were",
            "megatron_sequences_are_the_placements",
            "one_tokenizer_for_all",
            "rows_hold_documents_of_the_corpus",
        ]
    )
    warned = [line.split()[1].rstrip(":") for line in red[1].splitlines() if line.startswith("warned")]
    assert warned == ["losses_fall"]


@pytest.mark.parametrize(
    ("test", "named"),
    [
        ("blocking_checks_passed", "a planted fault"),
        ("dropped_files_have_a_reason", CURATED),
        ("every_folder_is_a_whole_artifact", UNSEALED),
        ("inputs_are_what_they_were", ENRICHED),
        ("inputs_are_what_they_were", PACKED),
        ("one_tokenizer_for_all", OTHER_TOKENIZER),
        ("one_tokenizer_for_all", CHECKPOINT),
        ("rows_hold_documents_of_the_corpus", "a stranger"),
    ],
)
def test_the_rows_that_failed_stay_in_the_database(red: tuple[Path, str], test: str, named: str) -> None:
    rows = _ask(red[0], f"SELECT * FROM failures.{test}")
    assert any(named in row for row in rows)


def test_a_red_root_has_its_marts_and_docs_all_the_same(red: tuple[Path, str]) -> None:
    assert len(summaries(red[0])[DATASET]) >= 10
    assert docs(red[0]).is_file()


def test_dbt_leaves_nothing_outside_the_data_root(green: tuple[Path, str]) -> None:
    assert not (Path.home() / ".dbt").exists()
    assert sorted(path.name for path in project().iterdir()) == [
        "dbt_project.yml", "macros", "models", "profiles.yml", "tests",
    ]  # fmt: skip


def test_an_empty_root_is_named_with_what_to_do(tmp_path: Path) -> None:
    done = megacpp_here(tmp_path, "quality")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"error: data root {tmp_path}",
        "  expected artifacts to report on",
        "  found none",
        "  what to do: megacpp run",
    ]
    assert os.listdir(tmp_path) == []


def test_a_signal_while_dbt_works_ends_the_command_like_any_other(
    reported_line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is asked to end when dbt has opened its database."""
    root = Path(shutil.copytree(reported_line, tmp_path / "data", symlinks=True))

    def ended(*_: object) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    from megacpp_assets.reports.dbt_plugin import Plugin  # dbt, which only the worker of this file shall import

    monkeypatch.setattr(Plugin, "configure_connection", ended)
    done = megacpp_here(root, "quality")
    assert done.returncode == 128 + signal.SIGTERM, done.stdout + done.stderr
    assert done.stderr.strip() == "interrupted; run the same command again to continue"
