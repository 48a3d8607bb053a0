"""Invariants of single rows, all evaluated in one scan: a DuckDB view and rules come in, one result per rule goes out.

A row whose predicate is false or null breaks the rule, so a column that is missing its values cannot pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from megacpp_assets.contract.check import CheckResult
from megacpp_assets.quality.duck import Connection


@dataclass(frozen=True, slots=True)
class RowRule:
    """`holds` is a SQL predicate over one row, written by us; `values` are bound to its `?`s."""

    name: str
    expected: str
    holds: str
    values: tuple[Any, ...] = ()


def check_rows(connection: Connection, view: str, key: str, rules: Sequence[RowRule]) -> dict[str, CheckResult]:
    """Results by rule name; a failed one tells how many rows break the rule and the first of them by `key`."""
    flags = ", ".join(f"({rule.holds}) IS NOT TRUE AS broken_{index}" for index, rule in enumerate(rules))
    counts = ", ".join(
        f"count(*) FILTER (broken_{index}), min({key}) FILTER (broken_{index})" for index in range(len(rules))
    )
    values = [value for rule in rules for value in rule.values]
    (row,) = connection.rows(f"SELECT {counts} FROM (SELECT {key}, {flags} FROM {view})", values)  # noqa: S608 - all ours
    return {
        rule.name: broken_rows(rule.name, rule.expected, broken, first)
        for rule, broken, first in zip(rules, row[::2], row[1::2], strict=True)
    }


def broken_rows(name: str, expected: str, broken: int, first: object) -> CheckResult:
    """The result of a rule that `broken` rows break, the first of which is called `first`."""
    return CheckResult(
        name, broken == 0, expected, f"{broken} rows that do not, first {first}" if broken else "all rows"
    )
