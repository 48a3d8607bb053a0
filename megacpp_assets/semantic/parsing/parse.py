"""Parses a tree of source bytes: one `ParsedFile` per C/C++ file, in path order. A file may fail; the call does not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.executor import BatchExecutor
from megacpp_assets.compute.gc_disabled import gc_disabled
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.commands.arguments import standard_of
from megacpp_assets.semantic.commands.compiler_view import write_view
from megacpp_assets.semantic.commands.plan import Standards, Unit
from megacpp_assets.semantic.commands.toolchain import Toolchain
from megacpp_assets.semantic.parsing.batches import group_by_arguments, run_batches
from megacpp_assets.semantic.parsing.budget import OVER_BUDGET, Budget, CpuBudget
from megacpp_assets.semantic.parsing.lots import Crew
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.planning import Question, plan_parse
from megacpp_assets.semantic.parsing.precompiled import PCH_FOLDER, SharedHeader
from megacpp_assets.semantic.parsing.second_parses import SecondParses, affordable, hash_of
from megacpp_assets.semantic.parsing.unit_cache import Memory, UnitCache
from megacpp_assets.semantic.parsing.worker import NO_CHECKS, Batch, Header, Limits, UnitResult, better, build_header

AUDIT_FRACTION = 0.02
"""The share of the units of a shared header that are also parsed without it. It may grow until a call was compared."""
AUDIT_TOLERANCE = 0.005
"""The share of an audit's calls that may differ. With more, the header is dropped."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """What decides the outcome, apart from tree and toolchain. It is part of the stage's configuration.

    `database` is the tree-relative path of a compile database to use instead of searching. `precompile` shares headers
    between units. A batch holds at most `batch_files` files.
    """

    standards: Standards = field(default_factory=Standards)
    database: str | None = None
    precompile: bool = True
    limits: Limits = field(default_factory=Limits)
    budget: Budget = field(default_factory=Budget)
    batch_files: int = 16


DEFAULT_OPTIONS = ParseOptions()


def options_of(recipe: SemanticRecipe) -> ParseOptions:
    """Return what a recipe allows for the parse of a repository: half of a file's CPU seconds at first, a quarter
    alone.
    """
    first, again = recipe.file_cpu_seconds // 2, recipe.file_cpu_seconds // 4
    return ParseOptions(
        limits=Limits(cpu_s=first, again_cpu_s=again, wall_s=float(first * recipe.wall_per_cpu)),
        budget=Budget(recipe.repository_cpu_seconds, recipe.unit_cpu_seconds, recipe.wall_per_cpu),
    )


COLLISION = "a symbol shares its 64-bit hash with another file's"
_MERGE_EVERY = 64
_HEADER_TRIES = 2
"""A header is compiled whole, and if that fails, only its part from outside of the tree."""


@dataclass(frozen=True, slots=True)
class ParseReport:
    """What happened with shared headers: `unbuilt` did not compile; `dropped` failed their audit or had no calls to
    compare.

    `database_unread` says why the tree's compile database is not used, or only in part, or is "". `warned` are the
    files with a response file that was not read. `units_audited` are units parsed with and without a header to judge
    it; `calls_compared` are the compared calls (in files with errors, those that the plain parse resolved).
    `units_doubted` were later parsed without their header because of errors.
    """

    headers: int = 0
    unbuilt: int = 0
    dropped: int = 0
    units_audited: int = 0
    calls_compared: int = 0
    calls_differing: int = 0
    units_doubted: int = 0
    database_unread: str = ""
    warned: tuple[str, ...] = ()


def unheard(report: ParseReport) -> None:
    """Used if nobody asks for the report."""


@gc_disabled
def parse_tree(
    tree: Path,
    files: Sequence[SourceFile],
    toolchain: Toolchain,
    executor: BatchExecutor,
    progress: Progress = silent,
    *,
    options: ParseOptions = DEFAULT_OPTIONS,
    report: Callable[[ParseReport], None] = unheard,
    memory: Memory | None = None,
    stand_ins: Sequence[str] = (),
) -> list[ParsedFile]:
    """Parse every file of `files` that is selected (`skipped == ""`, a language), sorted by path bytes.

    `tree` is a scratch folder of this run that holds the repository's files as regular files under their own paths;
    the call may add `tree/.megacpp` (stub headers, precompiled headers), the compiler's view in a file beside `tree`,
    and nothing else. The result depends on the bytes of the tree, the toolchain's identity and the options, never on
    where the tree lies, who parses, or what the `memory` of earlier runs spares them.
    `stand_ins` are the paths in the tree of other repositories' headers, which count as the system's.
    `report` is told once what became of the shared headers and the database, equal for equal results. Of files whose
    symbols share one 64-bit hash but are not the same, the first in path order stays and the others fail.
    """
    root = Path(os.path.realpath(tree))
    plan = plan_parse(replace(_question(root, files, toolchain, options), stand_ins=tuple(stand_ins)), executor)
    units, shared = plan.units, affordable(plan.shared, len(plan.units))
    write_view(str(root), toolchain.visible)
    plain = Batch(str(root), (), toolchain, options.limits)
    cache = UnitCache(memory.store if memory else None, plain)
    allowance = CpuBudget(_planned(units, shared), options.budget, options.limits.wall_s)
    parsed: dict[str, ParsedFile] = {}
    checks: dict[str, NDArray[np.uint64]] = {}
    progress(0, len(units))
    with tempfile.TemporaryDirectory(prefix="journals-", dir=root.parent) as journals:
        noted = Path(journals) if options.limits.applied else None
        usable = _Headers(plain, shared, Crew(executor, allowance, noted), cache, options.batch_files)
        for result in usable.parse(units):
            parsed[result.file.path] = result.file
            checks[result.file.path] = result.checks
            progress(len(parsed), len(units))
    for unit in units:
        if allowance.refuses(unit.path):
            parsed[unit.path] = ParsedFile(unit.path, "failed", unit.mode, OVER_BUDGET)
            checks[unit.path] = NO_CHECKS
    for path in _colliding({unit.path: checks[unit.path] for unit in units}):
        parsed[path] = ParsedFile(path, "failed", parsed[path].mode, COLLISION)
    report(replace(usable.report, database_unread=plan.unread, warned=tuple(sorted(plan.warned))))
    if memory:
        memory.parsed += len(cache.parsed)
        memory.reused += len(units) - len(cache.parsed)
        memory.included.update(path for unit in units for path in parsed[unit.path].includes)
    return [replace(parsed[unit.path], standard=standard_of(unit.arguments)) for unit in units]


def _question(root: Path, files: Sequence[SourceFile], toolchain: Toolchain, options: ParseOptions) -> Question:
    return Question(
        tree=str(root),
        files=tuple(files),
        standards=options.standards,
        header_roots=toolchain.header_roots,
        limits=options.limits,
        database=options.database,
        precompile=options.precompile,
    )


class _Headers:
    """The shared headers of one tree: built, audited on a sample of their units, and used for the rest if they pass.

    A batch names the header that its units share. `_built` has the result of each header. Only units that the cache
    does not know are parsed, and a header is built only for those.
    """

    def __init__(
        self, plain: Batch, shared: Sequence[SharedHeader], crew: Crew, cache: UnitCache, batch_files: int
    ) -> None:
        self._plain = plain
        self._crew = crew
        self._batch_files = batch_files
        self._cache = cache
        self._batches = [
            replace(plain, units=header.units, header=Header(header.text, f"{PCH_FOLDER}/{index}.pch"))
            for index, header in enumerate(shared)
        ]
        self._built: dict[str, Header | None] = {}
        self._second = SecondParses(0, 0)
        self.report = ParseReport(headers=len(shared))

    def parse(self, units: Sequence[Unit]) -> Iterator[UnitResult]:
        """Yield every unit's outcome, each once."""
        usable = self._usable()
        self._second = SecondParses(len(units), len(usable))
        waiting = {unit.path for batch in usable for unit in batch.units}
        rest = [unit for unit in units if unit.path not in waiting]
        good: list[Batch] = []
        for batch, results in self._audited(usable):
            taken = self._judged(results)
            yield from taken
            known = {result.file.path for result in taken}
            left = tuple(unit for unit in batch.units if unit.path not in known)
            if _is_proven(results):
                good.append(replace(batch, units=left))
            else:
                rest += left
        plain = [replace(self._plain, units=group) for group in group_by_arguments(rest)]
        doubtful: list[UnitResult] = []
        for result in self._run([*good, *plain]):
            if result.shares and result.file.errors:
                doubtful.append(result)
            else:
                yield result
        yield from self._doubted(doubtful, {unit.path: unit for batch in good for unit in batch.units})

    def _doubted(self, results: Sequence[UnitResult], units: Mapping[str, Unit]) -> Iterator[UnitResult]:
        """Yield the outcomes of units that have errors with a good header. A few are parsed without it, and the
        better outcome counts.
        """
        quick = {result.file.path: result for result in results}
        chosen = [units[result.file.path] for result in self._second.choose(results)]
        self.report = replace(self.report, units_doubted=len(chosen))
        for plain in self._run([replace(self._plain, units=group) for group in group_by_arguments(chosen)]):
            path = plain.file.path
            self._crew.allowance.charge(path, quick[path].cpu_ms + plain.cpu_ms)
            yield better(quick.pop(path), plain)
        yield from quick.values()

    def _usable(self) -> list[Batch]:
        """Return the batches whose header compiles. It is built if units of its audit are not cached."""
        batches = [batch for batch in self._batches if not self._cache.cannot_build(batch)]
        audits = map(_audit, batches)
        self._build([audit for audit in audits if any(self._cache.find(unit, audit) is None for unit in audit.units)])
        usable = [batch for batch in batches if batch.header and self._built.get(batch.header.output, batch.header)]
        self.report = replace(self.report, unbuilt=len(self._batches) - len(usable))
        return usable

    def _build(self, batches: Sequence[Batch]) -> None:
        """Build the headers of `batches` that were not tried yet."""
        new = [batch for batch in batches if batch.header and batch.header.output not in self._built]
        first = [replace(batch, units=batch.units[:1]) for batch in new]
        for outcome in self._crew.executor.run(
            build_header, first, timeout_s=60 + self._plain.limits.wall_s * _HEADER_TRIES
        ):
            self._crew.allowance.check_time()
            batch = new[outcome.index]
            self._built[_place(batch)] = outcome.value
            if outcome.value is None:
                self._cache.keep_unbuilt(batch, outcome.failure or "")

    def _audited(self, usable: Sequence[Batch]) -> Iterator[tuple[Batch, list[UnitResult]]]:
        """Yield each batch with the outcomes of its sample. The sample doubles until it has a call, or the limit is
        reached.
        """
        found: dict[str, UnitResult] = {}
        pending = [(batch, _audit(batch)) for batch in usable]
        while pending:
            known = found.keys()
            fresh = [replace(audit, units=tuple(u for u in audit.units if u.path not in known)) for _, audit in pending]
            found |= {result.file.path: result for result in self._run(fresh)}
            mute = []
            for batch, audit in pending:
                results = [found[unit.path] for unit in audit.units if unit.path in found]
                refused = len(results) < len(audit.units)
                told = any(result.calls or result.differing for result in results)
                left = min(len(batch.units) - len(results), len(results))
                more = 0 if refused or told else self._second.take(left)
                if more:
                    mute.append((batch, _audit(batch, len(results) + more)))
                else:
                    yield batch, results
            pending = mute

    def _run(self, batches: Sequence[Batch]) -> Iterator[UnitResult]:
        """Yield the outcome of every unit of `batches`, from the cache, or parsed now and cached."""
        missing: list[Batch] = []
        for batch in batches:
            left = []
            for unit in batch.units:
                found = self._cache.find(unit, batch)
                if found is None:
                    left.append(unit)
                else:
                    self._crew.allowance.charge(unit.path, found.cpu_ms)
                    yield found
            if left:
                missing.append(replace(batch, units=tuple(left)))
        self._build(missing)
        # If a header was good in an earlier run and fails now, this machine is the cause; then no unit uses it.
        asked = [batch if self._built.get(_place(batch)) else replace(batch, header=None) for batch in missing]
        by_path = {unit.path: batch for batch in asked for unit in batch.units}
        ready = [replace(batch, header=self._built.get(_place(batch))) for batch in asked]
        for done, results in run_batches(ready, self._crew, self._batch_files):
            for unit, result in zip(done.units, results, strict=True):
                self._cache.keep(unit, by_path[unit.path], done, result)
                self._crew.allowance.charge(unit.path, result.cpu_ms)
                yield result

    def _judged(self, results: Sequence[UnitResult]) -> list[UnitResult]:
        """Return those of an audit's `results` that may be cached: none that depend on an unproven header."""
        calls, differing = _measured(results)
        proven = _is_proven(results)
        self.report = replace(
            self.report,
            dropped=self.report.dropped + (not proven),
            units_audited=self.report.units_audited + len(results),
            calls_compared=self.report.calls_compared + calls,
            calls_differing=self.report.calls_differing + differing,
        )
        return [result for result in results if proven or not result.shares]


def _planned(units: Sequence[Unit], shared: Sequence[SharedHeader]) -> list[str]:
    """Return the paths of all units in their parse order: those with headers, then the others."""
    sharing = [unit for header in shared for unit in header.units]
    waiting = {unit.path for unit in sharing}
    rest = group_by_arguments([unit for unit in units if unit.path not in waiting])
    return [unit.path for unit in (*sharing, *chain.from_iterable(rest))]


def _measured(results: Sequence[UnitResult]) -> tuple[int, int]:
    return sum(result.calls for result in results), sum(result.differing for result in results)


def _is_proven(results: Sequence[UnitResult]) -> bool:
    """Return whether a header may serve units outside of its audit: calls were compared, and almost none changed."""
    calls, differing = _measured(results)
    return calls > 0 and differing <= AUDIT_TOLERANCE * calls


def _audit(batch: Batch, count: int = 0) -> Batch:
    """Return a sample of `batch`, chosen by the hash of paths, so that it is equal in every run and covers several
    folders.
    """
    count = count or max(1, round(AUDIT_FRACTION * len(batch.units)))
    chosen = sorted(batch.units, key=lambda unit: hash_of(unit.path))[:count]
    return replace(batch, units=tuple(chosen), audit=True)


def _place(batch: Batch) -> str:
    return batch.header.output if batch.header else ""


def _colliding(checks: Mapping[str, NDArray[np.uint64]]) -> list[str]:
    """Return the files to drop so that each hash means one symbol: the later one of two that disagree."""
    ambiguous = _ambiguous(list(checks.values()))
    meaning: dict[int, int] = {}
    lost = []
    for path, pairs in checks.items() if len(ambiguous) else ():
        found = dict(pairs[np.isin(pairs[:, 0], ambiguous)].tolist())
        if any(meaning.get(usr, check) != check for usr, check in found.items()):
            lost.append(path)
        else:
            meaning |= found
    return lost


def _ambiguous(checks: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Return the hashes that have two checks."""
    usr, check = NO_CHECKS.T
    for start in range(0, len(checks), _MERGE_EVERY):
        fresh = checks[start : start + _MERGE_EVERY]
        usr = np.concatenate([usr, *(pairs[:, 0] for pairs in fresh)])
        check = np.concatenate([check, *(pairs[:, 1] for pairs in fresh)])
        order = np.argsort(usr, kind="stable")
        usr, check = usr[order], check[order]
        again = (usr[1:] == usr[:-1]) & (check[1:] == check[:-1])
        kept = np.append(True, ~again)[: len(usr)]
        usr, check = usr[kept], check[kept]
    return np.unique(usr[1:][usr[1:] == usr[:-1]])
