from __future__ import annotations

from typing import Any

from megacpp_assets.semantic.documents.measures.coverage import coverage_of


def _row(
    status: str, mode: str, calls: int = 0, resolved: int = 0, reason: str = "", errors: int = 0
) -> dict[str, Any]:
    return {
        "filepath": "a.cc", "status": status, "mode": mode, "reason": reason, "calls": calls,
        "resolved_calls": resolved, "candidate_calls": 1, "characters": 200, "unlabelled_characters": 1,
        "errors": errors,
        "lines": 40,
    }  # fmt: skip


def test_files_units_calls_and_what_was_left_out_are_counted() -> None:
    rows = [
        _row("clean", "database", 10, 9), _row("failed", "inferred"),
        _row("errors", "nearest", 10, 3, "unknown type name 'size_t'"),
        _row("skipped", "", reason="generated"), _row("skipped", "", reason="generated"),
        _row("skipped", "", reason="empty"),
    ]  # fmt: skip
    report = coverage_of(rows)
    assert (report["files"], report["units"], report["skipped_files"]) == (6, 3, 3)
    assert (report["units_clean"], report["units_errors"], report["units_failed"]) == (1, 1, 1)
    assert (report["calls_database"], report["calls_resolved_database"], report["units_database"]) == (10, 9, 1)
    assert (report["calls"], report["calls_resolved"], report["calls_resolved_per_cent"]) == (20, 12, 60.0)
    assert (report["source_characters"], report["unlabelled_characters"], report["unlabelled_per_cent"]) == (
        600,
        3,
        0.5,
    )
    assert report["first_errors"] == {"unknown type name 'size_t'": 1}
    assert report["skipped_files_by_reason"] == {"empty": 1, "generated": 2}


def test_rules_of_the_parser_count_files_with_many_errors_a_line_or_few_calls_resolved() -> None:
    rows = [
        _row("errors", "inferred", 10, 4, errors=2), _row("errors", "inferred", 10, 5, errors=3),
        _row("clean", "inferred", 9, 0), _row("failed", "inferred", 50, 0, errors=20), _row("skipped", ""),
    ]  # fmt: skip
    assert coverage_of(rows)["files_by_parser_rule"] == {"many_parse_errors": 1, "few_calls_resolved": 1}


def test_a_repository_without_a_source_has_a_report_too() -> None:
    assert coverage_of([])["calls_resolved_per_cent"] == 0.0
