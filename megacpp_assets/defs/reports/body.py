"""What the reports do when they are materialised, imported only then: the same call as `megacpp quality`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from megacpp_assets.contract.errors import CheckFailed
from megacpp_assets.defs.keys import report_key
from megacpp_assets.defs.showing.paths import docs_page
from megacpp_assets.reports.build import Outcome, build
from megacpp_assets.reports.summary import Head, heads

_SHOWN_ROWS = 10


def make_reports(root: Path, tests: Mapping[str, Sequence[str]]) -> Iterator[dg.MaterializeResult[None]]:
    """Build everything; a result for each table of `tests`, with those of its tests.

    `CheckFailed` behind the last of them if a table could not be made.
    """
    report = build(root)
    by_name = {outcome.name: outcome for outcome in report.outcomes if outcome.kind != "source"}
    made = {name: by_name[name].table for name in tests if by_name[name].good}
    shown = heads(root, made, _SHOWN_ROWS)
    for name, head in shown.items():
        yield dg.MaterializeResult(
            asset_key=report_key(name),
            metadata=_metadata(head, name),
            check_results=[_check(by_name[test], name) for test in tests[name]],
        )
    broken = [f"{name}: {by_name[name].message}" for name in tests if name not in made]
    if broken:
        raise CheckFailed("tables of dbt_quality", expected="all of them made", found="; ".join(broken))


def _metadata(head: Head, name: str) -> Mapping[str, Any]:
    records = [dg.TableRecord(dict(zip(head.columns, row, strict=True))) for row in head.rows]
    return {
        "dagster/row_count": dg.MetadataValue.int(head.count),
        "first rows": dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn(each) for each in head.columns])),
        "docs": dg.MetadataValue.url(docs_page(name)),
    }


def _check(outcome: Outcome, name: str) -> dg.AssetCheckResult:
    severity = dg.AssetCheckSeverity.WARN if outcome.warned else dg.AssetCheckSeverity.ERROR
    return dg.AssetCheckResult(
        passed=outcome.good,
        asset_key=report_key(name),
        check_name=outcome.name,
        severity=severity,
        metadata={"failing rows": outcome.rows, "kept in": outcome.table, "said": outcome.message or outcome.status},
    )
