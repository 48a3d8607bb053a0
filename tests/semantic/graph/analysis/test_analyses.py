"""Analysis in workers: the same facts as here, and a text made to cost minutes or gigabytes loses only itself."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.semantic.graph.analysis.analyses import Analysed, Item, analyse_files
from megacpp_assets.semantic.graph.analysis.analysis import analyse
from megacpp_assets.semantic.parsing.budget import Budget, CpuBudget
from megacpp_assets.semantic.parsing.lots import Crew
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.tree.text import decode
from tests.semantic.hostile_repository import good
from tests.semantic.hostile_sources import many
from tests.semantic.parsing_trees import listing, parse_in_process

GOOD = good(4)
LONG_S = 60


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalPool]:
    executor = LocalPool(1)
    yield executor
    executor.close()


def items(folder: Path, bad: dict[str, str]) -> list[Item]:
    parsed = parse_in_process(folder / "tree", GOOD) | {path: ParsedFile(path, "failed", "inferred") for path in bad}
    texts = GOOD | {path: text.encode() for path, text in bad.items()}
    return [Item(file, decode(file.path, texts[file.path]), parsed[file.path]) for file in listing(texts)]


def analysed(folder: Path, given: list[Item], pool: LocalPool, cpu_s: int = LONG_S) -> dict[str, Analysed]:
    cpu_budget = CpuBudget([item.path for item in given], Budget(), LONG_S)
    journals = folder / "journals"
    journals.mkdir()
    found = analyse_files(given, Crew(pool, cpu_budget, journals), cpu_s=cpu_s, wall_s=LONG_S)
    return {each.facts.file.path: each for each in found}


def plain(value: Any) -> Any:
    """A value whose equality says everything: arrays as lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, tuple | list) else value


def test_a_worker_gives_the_facts_and_characters_that_this_process_would(tmp_path: Path, pool: LocalPool) -> None:
    given = items(tmp_path, {"failed.cc": "int f() { return 1; }\n"})
    found = analysed(tmp_path, given, pool)
    assert found.keys() == {item.path for item in given}
    for item in given:
        facts, chars = analyse(*item)
        assert found[item.path].chars.tolist() == chars.tolist()
        assert plain(asdict(found[item.path].facts)) == plain(asdict(facts))
        assert found[item.path].reason == ""


@pytest.mark.parametrize(
    ("text", "cpu_s", "reason"),
    [
        (many(";", 990_000), 2, "over budget: not analysed in 2 CPU seconds"),
        pytest.param(many("a<", 450_000), LONG_S, "crash: the file could not be analysed", marks=pytest.mark.campaign),
    ],
    ids=["endless", "swollen"],
)
def test_a_text_that_costs_too_much_is_named_and_no_other_file_changes(
    tmp_path: Path, pool: LocalPool, text: str, cpu_s: int, reason: str
) -> None:
    given = items(tmp_path, {"bomb.cc": text})
    before = resource.getrusage(resource.RUSAGE_SELF)
    found = analysed(tmp_path, given, pool, cpu_s)
    after = resource.getrusage(resource.RUSAGE_SELF)
    bomb = found.pop("bomb.cc")
    assert (bomb.reason, bomb.facts.parsed.reason, bomb.facts.roots) == (reason, reason, ())
    for item in given:
        if item.path != "bomb.cc":
            assert found[item.path].chars.tolist() == analyse(*item)[1].tolist()
    assert after.ru_utime - before.ru_utime < cpu_s, "nothing of it happens in the parent"


def test_files_past_the_budget_are_not_analysed(tmp_path: Path, pool: LocalPool) -> None:
    given = items(tmp_path, {})
    cpu_budget = CpuBudget([item.path for item in given], Budget(0, 0), LONG_S)
    cpu_budget.charge(given[2].path, 1)
    found = analyse_files(given, Crew(pool, cpu_budget), cpu_s=LONG_S, wall_s=LONG_S)
    assert {each.facts.file.path for each in found} == {item.path for item in given[:3]}
