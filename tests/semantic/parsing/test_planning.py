"""The plan of a parse in a worker: what a database costs there, and what is left when that is too much."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.contract.errors import OverBudget
from megacpp_assets.semantic.commands.database import entries as database_entries
from megacpp_assets.semantic.commands.plan import Standards
from megacpp_assets.semantic.parsing.parse import DEFAULT_OPTIONS, parse_tree
from megacpp_assets.semantic.parsing.planning import Question, make_plan, plan_parse
from megacpp_assets.semantic.parsing.report import ParseReport
from megacpp_assets.semantic.parsing.worker import Limits
from megacpp_assets.semantic.tree.build_files import DATABASE
from tests.semantic.parsing_trees import IN_PROCESS, InProcess, listing, toolchain, write_tree

SOURCES = {"a.cc": "int a();\n", "b.cc": "int b();\n"}


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalPool]:
    executor = LocalPool(1)
    yield executor
    executor.close()


def question(tree: Path, limits: Limits) -> Question:
    return Question(str(tree), tuple(listing(SOURCES)), Standards(), (), limits)


def many_entries(number: int) -> str:
    entries = ({"directory": "/b", "file": f"/b/x{index}.cc", "arguments": ["c++"]} for index in range(number))
    own = {"directory": "/b", "file": "/b/a.cc", "arguments": ["c++", "-DOWN"]}
    return json.dumps([own, *entries])


def test_a_worker_makes_the_same_plan_as_this_process(tmp_path: Path, pool: LocalPool) -> None:
    write_tree(tmp_path, {**SOURCES, DATABASE: many_entries(10)})
    plan = plan_parse(question(tmp_path, Limits()), pool)
    assert plan == make_plan(question(tmp_path, IN_PROCESS.limits))
    assert [(unit.path, unit.mode) for unit in plan.units] == [("a.cc", "database"), ("b.cc", "nearest")]
    assert plan.unread == ""


def test_a_too_costly_database_is_left_out_and_the_reason_is_reported(tmp_path: Path, pool: LocalPool) -> None:
    write_tree(tmp_path, {**SOURCES, DATABASE: many_entries(190_000)})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    plan = plan_parse(question(tmp_path, Limits(cpu_s=1)), pool)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 1, "nothing of it happens in the parent"
    assert plan.unread == "over budget: not read in 1 CPU seconds"
    assert {unit.mode for unit in plan.units} == {"inferred"}


def test_a_too_costly_plan_without_a_database_is_rejected_by_name(tmp_path: Path, pool: LocalPool) -> None:
    write_tree(tmp_path, SOURCES)
    with pytest.raises(OverBudget, match=r"^planning the parse .*; expected at most 60 CPU .*; found .*; what to do: "):
        plan_parse(question(tmp_path, Limits(memory_bytes=1 << 20)), pool)


@pytest.mark.parametrize(
    ("database", "reason"),
    [
        ("[", "no JSON: IncompleteJSONError"),
        (many_entries(3), ""),
        (many_entries(9), "more than 9 entries; the others are not read"),
    ],
    ids=["broken", "sound", "long"],
)
def test_the_parse_reports_how_the_database_was_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str, reason: str
) -> None:
    monkeypatch.setattr(database_entries, "MAX_ENTRIES", 9)
    files = write_tree(tmp_path, {**SOURCES, DATABASE: database})
    reports: list[ParseReport] = []
    options = replace(DEFAULT_OPTIONS, limits=IN_PROCESS.limits)
    parse_tree(tmp_path, files, toolchain(), InProcess(), options=options, report=reports.append)
    assert reports[0].database_unread == reason
