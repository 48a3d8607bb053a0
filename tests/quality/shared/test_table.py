"""The shape of checks: a table for each stage, cheap to list, whose results come in its order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.pipeline.stages import STAGES
from megacpp_assets.quality.shared.table import Check, Verdict, fail_all, fail_dependent, run_checks

LIST_ALL = """
import sys
from megacpp_assets.pipeline.stages import STAGES
assert all(stage.quality.CHECKS for stage in STAGES.values())
print(sorted({"numpy", "pyarrow", "duckdb", "torch", "tokenizers", "safetensors", "clang"} & sys.modules.keys()))
"""


def _below_five(number: int) -> Verdict:
    return Verdict(number < 5, str(number))


def _unreadable(number: int) -> Verdict:
    raise LineageGap("input", expected="a file", found="none")


SMALL = Check("small", "below 5", _below_five)
WARNS = Check("warns", "below 5", _below_five, blocking=False)
UNREADABLE = Check("unreadable", "an input", _unreadable)


def test_results_come_in_the_order_of_the_table_with_what_was_expected_and_found() -> None:
    assert run_checks((SMALL, WARNS), 7) == [
        CheckResult("small", False, "below 5", "7"),
        CheckResult("warns", False, "below 5", "7", blocking=False),
    ]


def test_a_rule_for_records_that_is_not_wrapped_is_rejected_with_what_to_do() -> None:
    def has_text(record: dict[str, str], _scan: object) -> bool:
        return bool(record["text"])

    with pytest.raises(SpecError, match=r"check text; .* found has_text with 2 arguments; .* wrap a rule"):
        Check("text", "some text", has_text)  # type: ignore[arg-type]


def test_an_input_that_cannot_be_read_fails_its_check_and_no_other() -> None:
    unreadable, small = run_checks((UNREADABLE, SMALL), 1)
    assert not unreadable.passed and unreadable.found == "input: none"
    assert small.passed


def test_checks_that_rest_on_one_that_does_not_hold_fail_and_name_it() -> None:
    first, second = fail_dependent((SMALL, WARNS), Verdict(False, "9"))
    assert (first.found, second.found) == ("9", "not measured: small does not hold")
    assert not first.passed and not second.passed


def test_an_artifact_that_cannot_be_read_at_all_fails_every_check() -> None:
    assert [result.found for result in fail_all((SMALL, WARNS), "rubbish")] == ["rubbish", "rubbish"]


def test_every_check_of_every_stage_has_a_name_of_its_own_and_says_what_must_hold() -> None:
    for stage in STAGES.values():
        names = [check.name for check in stage.quality.CHECKS]
        assert len(set(names)) == len(names)
        assert all(check.expected for check in stage.quality.CHECKS)


def test_listing_all_checks_loads_nothing_that_reads_artifacts() -> None:
    command = [sys.executable, "-c", LIST_ALL]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent)
    assert listed.stdout.strip() == "[]"
