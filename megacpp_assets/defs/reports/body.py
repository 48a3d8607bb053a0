"""Turns the results of the reports into results for Dagster: metadata of tables and results of their tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from megacpp_assets.contract.errors import CheckFailed
from megacpp_assets.defs.keys import report_key
from megacpp_assets.defs.reports.graph import read_graph
from megacpp_assets.defs.showing.paths import REPORTS_PAGE, docs_page
from megacpp_assets.reports.build import Build, build
from megacpp_assets.reports.outcome import DbtOutcome
from megacpp_assets.reports.summary import Head, heads

_SHOWN_ROWS = 20

Results = Iterator[dg.MaterializeResult[None]]


def make_reports(root: Path) -> Results:
    """Build every table; yield a result for each, with the results of its tests.

    `CheckFailed` after the last table if one could not be built.
    """
    report = build(root)
    yield from results_of(root, report)
    if broken := broken_tables(report):
        raise CheckFailed("tables of dbt_quality", expected="all of them built", found=broken)


def _tests() -> dict[str, list[str]]:
    return {name: list(table["checks"]) for name, table in read_graph().items()}


def results_of(root: Path, report: Build) -> Results:
    """Yield a result for each table that was built."""
    by_name = {outcome.name: outcome for outcome in report.outcomes if outcome.kind != "source"}
    tests = _tests()
    made = {name: by_name[name].table for name in tests if by_name[name].good}
    for name, head in heads(root, made, _SHOWN_ROWS).items():
        yield dg.MaterializeResult(
            asset_key=report_key(name),
            metadata=_metadata(head, name),
            check_results=[_check(by_name[test], name) for test in tests[name]],
        )


def broken_tables(report: Build) -> str:
    """Return the tables that were not built, each with dbt's message; "" if all were built."""
    models = [outcome for outcome in report.outcomes if outcome.kind == "model" and not outcome.good]
    return "; ".join(f"{outcome.name}: {outcome.message}" for outcome in models)


def _metadata(head: Head, name: str) -> Mapping[str, Any]:
    records = [dg.TableRecord(dict(zip(head.columns, row, strict=True))) for row in head.rows]
    return {
        "all reports with plots": dg.MetadataValue.url(REPORTS_PAGE),
        "dagster/row_count": dg.MetadataValue.int(head.count),
        "first rows": dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn(each) for each in head.columns])),
        "columns and tests (dbt docs)": dg.MetadataValue.url(docs_page(name)),
    }


def _check(outcome: DbtOutcome, name: str) -> dg.AssetCheckResult:
    severity = dg.AssetCheckSeverity.WARN if outcome.warned else dg.AssetCheckSeverity.ERROR
    return dg.AssetCheckResult(
        passed=outcome.good,
        asset_key=report_key(name),
        check_name=outcome.name,
        severity=severity,
        metadata={
            "failing rows": outcome.rows,
            "failing rows are in": outcome.table,
            "dbt": outcome.message or outcome.status,
        },
    )
