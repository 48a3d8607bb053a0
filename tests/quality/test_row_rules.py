"""Tests of evaluating row rules in one scan."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from megacpp_assets.contract.check import CheckResult
from megacpp_assets.quality.duck import connect
from megacpp_assets.quality.row_rules import RowRule, check_rows


def test_a_rule_is_broken_by_false_and_by_null_and_names_the_first_row(tmp_path: Path) -> None:
    path = tmp_path / "rows [1].parquet"
    pq.write_table(pa.table({"id": ["c", "b", "a"], "size": [1, None, 7]}), path)
    with connect(tmp_path) as connection:
        connection.view("documents", [path])
        results = check_rows(
            connection,
            "documents",
            "id",
            (RowRule("small", "below ?", "size < ?", (5,)), RowRule("named", "a name", "id <> ?", ("",))),
        )
    assert results == {
        "small": CheckResult("small", False, "below ?", "2 rows that do not, first a"),
        "named": CheckResult("named", True, "a name", "all rows"),
    }


def test_no_rows_break_no_rule(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"id": pa.array([], pa.string())}), path)
    with connect(tmp_path) as connection:
        connection.view("documents", [path])
        assert check_rows(connection, "documents", "id", (RowRule("r", "x", "id = 'x'"),))["r"].passed
