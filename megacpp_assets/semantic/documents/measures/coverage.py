"""The coverage report of a repository in numbers, from the rows of `files.parquet`: what statistics and UI show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from megacpp_assets.contract.sources.quality_rules import PARSER_RULES, parser_figures

MODES = ("database", "nearest", "inferred")
"""Where a unit's arguments may come from."""


FEW_ERRORS = 8
"""The statistics have so many of the most frequent errors."""


def coverage_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Files, units by outcome and by provenance, calls resolved absolutely and in per cent, unlabelled characters, the
    files that were left out by reason, and the most frequent errors that files begin with."""
    table = list(rows)
    units = [row for row in table if row["status"] != "skipped"]
    left_out = Counter(row["reason"] for row in table if row["status"] == "skipped")
    calls, resolved, characters, unlabelled = (
        sum(row[name] for row in units) for name in ("calls", "resolved_calls", "characters", "unlabelled_characters")
    )
    report: dict[str, Any] = {"files": len(table), "units": len(units), "skipped_files": len(table) - len(units)}
    report |= {f"units_{status}": _count(units, "status", status) for status in ("clean", "errors", "failed")}
    report |= {f"units_{mode}": _count(units, "mode", mode) for mode in MODES}
    for mode in MODES:
        own = [row for row in units if row["mode"] == mode]
        report[f"calls_{mode}"] = sum(row["calls"] for row in own)
        report[f"calls_resolved_{mode}"] = sum(row["resolved_calls"] for row in own)
    report |= {"calls": calls, "calls_resolved": resolved, "calls_resolved_per_cent": _per_cent(resolved, calls)}
    report |= {"calls_with_candidates": sum(row["candidate_calls"] for row in units)}
    report |= {"source_characters": characters, "unlabelled_characters": unlabelled}
    report |= {"unlabelled_per_cent": _per_cent(unlabelled, characters)}
    report["skipped_files_by_reason"] = dict(sorted(left_out.items()))
    errors = Counter(row["reason"] for row in table if row["status"] == "errors")
    report["first_errors"] = dict(sorted(errors.items(), key=lambda item: (-item[1], item[0]))[:FEW_ERRORS])
    report["files_by_parser_rule"] = _by_parser_rule(units)
    return report


def _by_parser_rule(units: list[Mapping[str, Any]]) -> dict[str, int]:
    """Return the parsed files that each rule of the parser reports, in the order of the rules."""
    figures = [
        parser_figures(row["errors"], row["lines"], row["calls"], row["resolved_calls"])
        for row in units
        if row["status"] != "failed"
    ]
    return {name: sum(rule.broken_by(each) for each in figures) for name, rule in PARSER_RULES.items()}


def _count(rows: list[Mapping[str, Any]], column: str, value: str) -> int:
    return sum(row[column] == value for row in rows)


def _per_cent(part: int, whole: int) -> float:
    return round(100 * part / whole, 3) if whole else 0.0
