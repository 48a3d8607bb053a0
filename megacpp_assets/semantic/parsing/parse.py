"""Parses a tree of source bytes: one `ParsedFile` per C/C++ file, in path order. A file may fail; the call does not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.compute.gc_disabled import gc_disabled
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.semantic.commands.arguments import standard_of
from megacpp_assets.semantic.commands.plan import Standards, Unit
from megacpp_assets.semantic.commands.toolchain import Toolchain
from megacpp_assets.semantic.parsing.batches import group_by_arguments, run_batches
from megacpp_assets.semantic.parsing.budget import OVER_BUDGET, Budget, CpuBudget
from megacpp_assets.semantic.parsing.incomplete import FirstParses
from megacpp_assets.semantic.parsing.lots import Crew
from megacpp_assets.semantic.parsing.parse_folder import ParseFolder
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.planning import Question, plan_parse
from megacpp_assets.semantic.parsing.precompiled import PCH_FOLDER, SharedHeader
from megacpp_assets.semantic.parsing.report import ParseReport, ignore_report
from megacpp_assets.semantic.parsing.second_parses import SecondParses, affordable, hash_of
from megacpp_assets.semantic.parsing.stored.unit_cache import Memory, UnitCache
from megacpp_assets.semantic.parsing.worker import NO_CHECKS, Batch, Header, Limits, UnitResult, better, build_header

AUDIT_FRACTION = 0.02
"""The share of the units of a shared header that are also parsed without it.

It grows until there is a call to compare.
"""
AUDIT_TOLERANCE = 0.005
"""The share of an audit's calls that may differ. With more, the header is dropped."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """The settings of a parse that change its result. They are part of the stage's configuration.

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
    """Return the options of a recipe. A file may use half of its CPU seconds in the first try, a quarter in each other.

    There are at most two further tries of a file that ended its worker.
    """
    first, again = recipe.file_cpu_seconds // 2, recipe.file_cpu_seconds // 4
    return ParseOptions(
        limits=Limits(cpu_s=first, again_cpu_s=again, wall_s=float(first * recipe.wall_per_cpu)),
        budget=Budget(recipe.repository_cpu_seconds, recipe.unit_cpu_seconds, recipe.wall_per_cpu),
    )


COLLISION = "a symbol shares its 64-bit hash with another file's"
_MERGE_EVERY = 64
_HEADER_TRIES = 2
"""A header is compiled as a whole. If that fails, only its part from outside of the tree is compiled."""


@gc_disabled
def parse_tree(
    tree: Path,
    files: Sequence[SourceFile],
    toolchain: Toolchain,
    executor: BatchExecutor,
    progress: Progress = silent,
    *,
    options: ParseOptions = DEFAULT_OPTIONS,
    report: Callable[[ParseReport], None] = ignore_report,
    memory: Memory | None = None,
    stand_ins: Sequence[str] = (),
) -> list[ParsedFile]:
    """Parse every file of `files` that is selected (`skipped == ""`, a language), sorted by path bytes.

    See `parse_into`, which this calls.
    """
    found: dict[str, ParsedFile] = {}
    parse_into(
        found, tree, files, toolchain, executor, progress=progress,
        options=options, report=report, memory=memory, stand_ins=stand_ins,
    )  # fmt: skip
    return [found[path] for path in sorted(found, key=os.fsencode)]


@gc_disabled
def parse_into(
    parsed: MutableMapping[str, ParsedFile],
    tree: Path,
    files: Sequence[SourceFile],
    toolchain: Toolchain,
    executor: BatchExecutor,
    *,
    progress: Progress = silent,
    options: ParseOptions = DEFAULT_OPTIONS,
    report: Callable[[ParseReport], None] = ignore_report,
    memory: Memory | None = None,
    stand_ins: Sequence[str] = (),
) -> None:
    """Put the parse of every file of `files` that is selected into `parsed`, which is empty, by its path.

    A header is a main file of its own too, so its cursors depend neither on the sources that include it nor on their
    order. One that has errors by itself is parsed again inside of a file without errors that includes it, and the parse
    with fewer errors counts.

    `tree` is a scratch folder of this run that holds the repository's files as regular files under their own paths; the
    call may add `tree/.megacpp` (stub headers, precompiled headers), the compiler's view in a file next to `tree`, and
    nothing else. The result depends on the bytes of the tree, the toolchain's identity and the options. It does not
    depend on the path of the tree, the executor, or the results of earlier runs in `memory`. `stand_ins` are the paths
    in the tree of other repositories' headers, which count as the system's. `report` is called once; equal results have
    equal reports. If different symbols of several files have the same 64-bit hash, the first of these files in path
    order is kept and the others fail.
    """
    root = Path(os.path.realpath(tree))
    plan = plan_parse(replace(_question(root, files, toolchain, options), stand_ins=tuple(stand_ins)), executor.here)
    units, shared = plan.units, affordable(plan.shared, len(plan.units))
    executor.provide(ParseFolder(str(root), toolchain))
    plain = Batch(str(root), (), toolchain, options.limits)
    cache = UnitCache(memory.store if memory else None, plain)
    allowance = CpuBudget(_planned(units, shared), options.budget, options.limits.wall_s)
    standards = {unit.path: standard_of(unit.arguments) for unit in units}
    checks: dict[str, NDArray[np.uint64]] = {}
    first = FirstParses()
    progress(0, len(units))
    with tempfile.TemporaryDirectory(prefix="journals-", dir=root.parent) as journals:
        folder = Path(journals) if options.limits.applied else None
        parser = _SharedHeaderParser(plain, shared, Crew(executor, allowance, folder), cache, options.batch_files)
        for result in parser.parse(units):
            path = result.file.path
            parsed[path] = replace(result.file, standard=standards[path])
            checks[path] = result.checks
            progress(len(parsed), len(units))
            first.note(result)
        # Which of the files over the budget were parsed depends on the order of the workers.
        is_over = any(allowance.rejects(unit.path) for unit in units)
        again = () if is_over else first.within(root, units, executor.here, options.limits)
        for result in parser.parse_within(again, first):
            path = result.file.path
            parsed[path], checks[path] = result.file, result.checks
    for unit in units:
        if allowance.rejects(unit.path):
            parsed[unit.path] = ParsedFile(unit.path, "failed", unit.mode, OVER_BUDGET, standard=standards[unit.path])
            checks[unit.path] = NO_CHECKS
    for path in _colliding({unit.path: checks[unit.path] for unit in units}):
        parsed[path] = ParsedFile(path, "failed", parsed[path].mode, COLLISION, standard=standards[path])
    report(replace(parser.report, database_unread=plan.unread, warned=tuple(sorted(plan.warned))))
    if memory:
        memory.parsed += len(cache.parsed)
        memory.reused += len(units) - len(cache.parsed)
        memory.included.update(path for unit in units for path in parsed[unit.path].includes)


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


class _SharedHeaderParser:
    """Parses the units of one tree with shared headers.

    A precompiled header may change macros and so the meaning of a unit. So each header is audited: a sample of its
    units is also parsed without it, and the rest use it only if the calls agree. A batch names the header that its
    units share. `_built` has the compiled headers. Only units that are not cached are parsed, and a header is built
    only for those.
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
        """Yield the result of every unit once."""
        usable = self._usable()
        self._second = SecondParses(len(units), len(usable))
        waiting = {unit.path for batch in usable for unit in batch.units}
        rest = [unit for unit in units if unit.path not in waiting]
        good: list[Batch] = []
        for batch, results in self._audited(usable):
            accepted = self._accepted(results)
            yield from accepted
            known = {result.file.path for result in accepted}
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

    def parse_within(self, units: Sequence[Unit], first: FirstParses) -> Iterator[UnitResult]:
        """Yield those results of `units`, each inside of another one, that have fewer errors than the `first` parse."""
        standards = {unit.path: standard_of(unit.arguments) for unit in units}
        for result in self._run([replace(self._plain, units=group) for group in group_by_arguments(units)]):
            path = result.file.path
            self._crew.allowance.charge(path, first.cost(result))
            if first.is_better(result):
                self.report = replace(self.report, units_within=self.report.units_within + 1)
                yield replace(result, file=replace(result.file, standard=standards[path]))

    def _doubted(self, results: Sequence[UnitResult], units: Mapping[str, Unit]) -> Iterator[UnitResult]:
        """Yield the results of units that have errors with a proven header.

        The header may have caused the errors, so a few units are parsed again without it; the better result counts.
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
        """Return the batches whose header compiles. A header is built only if units of its audit are not cached."""
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
        """Yield each batch with the results of its sample.

        A sample without calls proves nothing, so it is doubled until it has a call or no second parses are left.
        """
        found: dict[str, UnitResult] = {}
        pending = [(batch, _audit(batch)) for batch in usable]
        while pending:
            known = found.keys()
            fresh = [replace(audit, units=tuple(u for u in audit.units if u.path not in known)) for _, audit in pending]
            found |= {result.file.path: result for result in self._run(fresh)}
            without_calls = []
            for batch, audit in pending:
                results = [found[unit.path] for unit in audit.units if unit.path in found]
                over_budget = len(results) < len(audit.units)
                compared = any(result.calls or result.differing for result in results)
                left = min(len(batch.units) - len(results), len(results))
                more = 0 if over_budget or compared else self._second.take(left)
                if more:
                    without_calls.append((batch, _audit(batch, len(results) + more)))
                else:
                    yield batch, results
            pending = without_calls

    def _run(self, batches: Sequence[Batch]) -> Iterator[UnitResult]:
        """Yield the result of every unit of `batches` from the cache; parse and cache those that are missing there."""
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
        # The cache has no failure of these headers, so one that fails now fails because of this machine: no unit uses
        # it.
        asked = [batch if self._built.get(_place(batch)) else replace(batch, header=None) for batch in missing]
        by_path = {unit.path: batch for batch in asked for unit in batch.units}
        ready = [replace(batch, header=self._built.get(_place(batch))) for batch in asked]
        for done, results in run_batches(ready, self._crew, self._batch_files):
            for unit, result in zip(done.units, results, strict=True):
                self._cache.keep(unit, by_path[unit.path], done, result)
                self._crew.allowance.charge(unit.path, result.cpu_ms)
                yield result

    def _accepted(self, results: Sequence[UnitResult]) -> list[UnitResult]:
        """Count an audit; return its results without those that depend on an unproven header."""
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
    """Return whether units outside of the audit may use the header: calls were compared, and almost all are equal."""
    calls, differing = _measured(results)
    return calls > 0 and differing <= AUDIT_TOLERANCE * calls


def _audit(batch: Batch, count: int = 0) -> Batch:
    """Return a sample of `batch`: the least hashes of paths, so that it is the same in every run and mixes folders."""
    count = count or max(1, round(AUDIT_FRACTION * len(batch.units)))
    chosen = sorted(batch.units, key=lambda unit: hash_of(unit.path))[:count]
    return replace(batch, units=tuple(chosen), audit=True)


def _place(batch: Batch) -> str:
    return batch.header.output if batch.header else ""


def _colliding(checks: Mapping[str, NDArray[np.uint64]]) -> list[str]:
    """Return the files to drop so that each USR hash means one symbol: the later ones in path order."""
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
    """Return the USR hashes that occur with different second hashes, and so stand for several symbols."""
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
