from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from megacpp_assets.compute.executors.executor import Outcome
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.batches import group_by_arguments, run_batches
from megacpp_assets.semantic.parsing.lots import Crew, cut, may_be_machine_failure
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.worker import Batch, Header, Limits, UnitResult
from tests.semantic.parsing_trees import toolchain

HEADER = Header("", ".megacpp/pch/0.pch")


class Fragile:
    """An executor whose batches fail where `kills` says so of a unit's path and of whether it has a header."""

    def __init__(
        self, kills: Callable[[str, bool], bool], failure: str = "crash: worker ended with exit code -11"
    ) -> None:
        self.kills, self.failure = kills, failure
        self.batches: list[Batch] = []

    def run(
        self, function: Callable[[Any], Any], batches: Sequence[Any], *, timeout_s: float
    ) -> Iterator[Outcome[Any]]:
        for index, batch in enumerate(batches):
            self.batches.append(batch)
            if any(self.kills(unit.path, batch.header is not None) for unit in batch.units):
                yield Outcome(index, None, self.failure)
            else:
                files = (ParsedFile(unit.path, "clean", unit.mode) for unit in batch.units)
                yield Outcome(index, tuple(UnitResult(file) for file in files))

    def close(self) -> None: ...


class Unlimited:
    """An allowance that refuses nothing."""

    def charge(self, path: str, cpu_ms: int) -> None: ...

    def rejects(self, path: str) -> bool:
        return False

    def check_time(self) -> None: ...


def batch(count: int, header: Header | None = None) -> Batch:
    units = tuple(Unit(f"{index:02}.cpp", ("-DA",), "inferred", False) for index in range(count))
    return Batch(".", units, toolchain(), Limits(applied=False), header, audit=header is not None)


def outcomes(executor: Fragile, whole: Batch) -> dict[str, str]:
    found = [result.file for _, results in run_batches([whole], Crew(executor, Unlimited()), 16) for result in results]
    assert len(found) == len({file.path for file in found}) == len(whole.units)
    return {file.path: file.status for file in found}


def test_batches_hold_files_of_equal_arguments_in_path_order() -> None:
    units = [Unit(f"{index:02}.cpp", ("-DA",) if index % 3 else ("-DB",), "inferred", False) for index in range(10)]
    groups = group_by_arguments(units)
    assert [[unit.path[:2] for unit in group] for group in groups] == [
        ["01", "02", "04", "05", "07", "08"],
        ["00", "03", "06", "09"],
    ]
    assert [len(piece.units) for piece in cut(batch(10), 4)] == [4, 4, 2]


def test_a_batch_that_ends_its_worker_is_split_to_isolate_the_file() -> None:
    found = outcomes(Fragile(lambda path, _: path in {"03.cpp", "29.cpp"}), batch(40))
    assert {path for path, status in found.items() if status == "failed"} == {"03.cpp", "29.cpp"}


def test_a_file_that_crashes_only_with_its_header_is_parsed_without_it() -> None:
    executor = Fragile(lambda path, header: header and path == "05.cpp")
    assert set(outcomes(executor, batch(20, HEADER)).values()) == {"clean"}
    (plain,) = [batch for batch in executor.batches if batch.header is None]
    assert [unit.path for unit in plain.units] == ["05.cpp"] and not plain.audit


def test_a_file_fails_only_after_two_failures_in_its_own_batch() -> None:
    executor = Fragile(lambda path, _: path == "00.cpp")
    assert outcomes(executor, batch(1)) == {"00.cpp": "failed"}
    assert len(executor.batches) == 2


def test_a_fault_of_this_program_is_not_reported_as_the_parsers() -> None:
    executor = Fragile(lambda path, _: path == "00.cpp", failure="error: TypeError: /srv/home/x is none")
    ((_, (result,)),) = run_batches([batch(1)], Crew(executor, Unlimited()), 16)
    assert result.file.reason == "error: TypeError in this program, not in the parser"


@pytest.mark.parametrize(
    ("failure", "machines"),
    [
        ("timeout: no answer in 120 s", True),
        ("error: MemoryError: ", True),
        ("crash: worker ended with exit code -9", True),
        ("crash: worker ended with exit code -15", True),
        ("crash: 4 workers died while they ran the batch", True),
        ("crash: worker ended with exit code -11", False),
        ("crash: worker ended with exit code -6", False),
        ("crash: worker ended with exit code -24", False),
        ("crash: worker ended with exit code 1", False),
    ],
)
def test_failures_by_the_machine_are_distinguished_from_crashing_files(failure: str, machines: bool) -> None:
    assert may_be_machine_failure(failure) == machines
