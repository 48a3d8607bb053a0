"""Plans a parse in a worker with limits, because untrusted compile databases and includes decide the cost of planning.

In: a tree and its files. Out: a unit for each file, the headers that units share, and how the database was used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.compute.gc_disabled import gc_disabled
from megacpp_assets.compute.limits import allow, allow_all, limit_memory
from megacpp_assets.contract.errors import OverBudget
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.commands.cuda import as_cuda
from megacpp_assets.semantic.commands.database.compile_database import (
    NO_DATABASE,
    Database,
    find_database,
    read_database,
)
from megacpp_assets.semantic.commands.fragments import within_configuring, within_includers, within_sound
from megacpp_assets.semantic.commands.modules import as_plain
from megacpp_assets.semantic.commands.plan import Standards, Unit, plan_units, read_source
from megacpp_assets.semantic.commands.stand_ins import with_stand_ins
from megacpp_assets.semantic.parsing.lots import ran_out
from megacpp_assets.semantic.parsing.precompiled import SharedHeader, shared_headers
from megacpp_assets.semantic.parsing.worker import Limits
from megacpp_assets.semantic.tree.folder import WORK_FOLDER

_FILES_PER_CPU_S = 10
"""Files for which planning gets one more CPU second. Real trees are planned at hundreds of files per second."""
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Question:
    """The input of a plan.

    `database` is the tree-relative path of the compile database to use; otherwise the tree is searched for one, if
    `search`. With `precompile` the plan has headers to share. `stand_ins` are the paths of headers of other
    repositories that were placed in the tree. `limits` are those of one file.
    """

    tree: str
    files: tuple[SourceFile, ...]
    standards: Standards
    header_roots: tuple[str, ...]
    limits: Limits
    database: str | None = None
    search: bool = True
    precompile: bool = True
    stand_ins: tuple[str, ...] = ()

    @property
    def cpu_s(self) -> int:
        """Return the CPU seconds that planning may take."""
        return self.limits.cpu_s + len(self.files) // _FILES_PER_CPU_S


class IncludersQuestion(NamedTuple):
    """The input of `plan_within`: the `units` of a tree, the paths of the `broken` ones, which have errors, those of
    the `wanted` ones, and those of headers that have no errors and are seen only in `part`."""

    tree: str
    units: Sequence[Unit]
    broken: frozenset[str]
    wanted: frozenset[str]
    part: frozenset[str]
    limits: Limits

    @property
    def cpu_s(self) -> int:
        """Return the CPU seconds that planning may take."""
        return self.limits.cpu_s + len(self.units) // _FILES_PER_CPU_S


class Plan(NamedTuple):
    """The plan of a parse.

    `units` are sorted by path. `shared` are the headers that groups of them share. `unread` is the reason why the
    compile database is not used, or only in part, or "". `warned` are the files with a response file that was not read.
    """

    units: list[Unit]
    shared: list[SharedHeader]
    unread: str
    warned: frozenset[str] = frozenset()


def plan_parse(question: Question, executor: BatchExecutor) -> Plan:
    """Return the plan.

    If the tree's compile database makes it too costly, plan without it. `OverBudget` if that fails too.
    """
    plan, failure = _run(question, executor)
    if plan is not None:
        return plan
    plan, again = _run(replace(question, search=False), executor)
    if plan is None:
        raise OverBudget(
            "planning the parse of the repository",
            expected=f"at most {question.cpu_s} CPU seconds and {question.limits.memory_bytes >> 30} GiB",
            found=again,
            do="leave the repository out, or raise the recipe's semantic.file_cpu_seconds",
        )
    spent = f"over budget: not read in {question.cpu_s} CPU seconds"
    return plan._replace(unread=spent if ran_out(failure) else f"{failure.partition(':')[0]}: it could not be read")


def plan_within(question: IncludersQuestion, executor: BatchExecutor) -> list[Unit]:
    """Return the wanted units and those seen in part, each inside of one that includes it and is not broken; none if
    that costs too much.
    """
    (outcome,) = executor.run(find_sound, [question], timeout_s=_timeout_s(question))
    return outcome.value or []


def _run(question: Question, executor: BatchExecutor) -> tuple[Plan | None, str]:
    (outcome,) = executor.run(make_plan, [question], timeout_s=_timeout_s(question))
    return outcome.value, outcome.failure or ""


def _timeout_s(question: Question | IncludersQuestion) -> float:
    return _PATIENCE_S + question.cpu_s * question.limits.wall_s / question.limits.cpu_s


def _limit(question: Question | IncludersQuestion) -> None:
    limits = question.limits
    if limits.applied:
        limit_memory(limits.memory_bytes)
        allow(question.cpu_s, question.cpu_s * limits.wall_s / limits.cpu_s)


@gc_disabled
def find_sound(question: IncludersQuestion) -> list[Unit]:
    """In a worker: return the answer of `plan_within`."""
    _limit(question)
    units, broken = question.units, question.broken

    def text_of(path: str) -> bytes:
        return read_source(f"{question.tree}/{path}")

    found = within_sound(units, broken, question.wanted, text_of)
    found += within_configuring(units, broken, question.part, text_of)
    if question.limits.applied:
        allow_all()
    return found


@gc_disabled
def make_plan(question: Question) -> Plan:
    """In a worker: return the plan for `question`. It writes stub headers to `WORK_FOLDER` in the tree."""
    limits = question.limits
    _limit(question)
    tree = Path(question.tree)

    def text_of(path: str) -> bytes:
        return read_source(f"{tree}/{path}")

    database = _database(tree, question) if question.search else NO_DATABASE
    own = [file.path for file in question.files]
    planned = as_cuda(plan_units(tree, question.files, question.standards, database.entries), tree)
    equipped = with_stand_ins(planned, own, question.stand_ins, text_of)
    units = within_includers(as_plain(equipped, text_of), text_of)
    alone = [unit for unit in units if not unit.through]
    shared = _shared(tree, question.files, alone) if question.precompile else []
    if limits.applied:
        allow_all()
    return Plan(units, shared, database.reason, database.warned)


def _database(tree: Path, question: Question) -> Database:
    found = find_database(tree, question.database)
    wanted = {file.path for file in question.files if file.language}
    return read_database(tree, found, question.header_roots, wanted=wanted) if found else NO_DATABASE


def _shared(tree: Path, files: Sequence[SourceFile], units: Sequence[Unit]) -> list[SharedHeader]:
    """Return the headers that save time; none if the tree itself has a file or folder named `WORK_FOLDER`."""
    if (tree / WORK_FOLDER).is_symlink() or any(file.path.split("/", 1)[0] == WORK_FOLDER for file in files):
        return []
    return shared_headers(units, lambda path: read_source(f"{tree}/{path}"))
