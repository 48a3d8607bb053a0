"""A tree of source bytes in, one `ParsedFile` per C/C++ file out, in path order. A file may fail; the call does not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.executor import BatchExecutor
from megacpp_assets.contract.errors import ParseFailure
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.contract.source_file import SourceFile
from megacpp_assets.semantic.batches import Crew, group_by_arguments, run_batches
from megacpp_assets.semantic.compiler_view import write_view
from megacpp_assets.semantic.parsed import ParsedFile
from megacpp_assets.semantic.plan import WORK_FOLDER, Standards, Unit, plan_units, read_source
from megacpp_assets.semantic.precompiled import PCH_FOLDER, SharedHeader, shared_headers
from megacpp_assets.semantic.toolchain import Toolchain
from megacpp_assets.semantic.worker import Batch, BatchResult, Header, Limits, build_header

AUDIT_FRACTION = 0.02
"""Part of the units of a shared header that are parsed without it as well; at least one is."""
AUDIT_TOLERANCE = 0.005
"""Part of an audit's calls that may differ before the header is dropped."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """What decides the outcome beside tree and toolchain; belongs in the stage's configuration.

    `database` is the tree-relative path of a compile database to use instead of searching; `precompile` shares headers
    between units. A batch of `batch_files` files may take `wall_s` seconds per file before it counts as hung.
    """

    standards: Standards = field(default_factory=Standards)
    database: str | None = None
    precompile: bool = True
    limits: Limits = field(default_factory=Limits)
    batch_files: int = 16
    wall_s: float = 120.0


DEFAULT_OPTIONS = ParseOptions()


@dataclass(frozen=True, slots=True)
class HeaderReport:
    """What became of the shared headers: `unbuilt` did not compile, `dropped` failed their audit.

    `units_audited` are units parsed with and without, `calls_compared` the calls of those without errors.
    """

    headers: int = 0
    unbuilt: int = 0
    dropped: int = 0
    units_audited: int = 0
    calls_compared: int = 0
    calls_differing: int = 0


def unheard(report: HeaderReport) -> None:
    """Where nobody asks for the report."""


def parse_tree(
    tree: Path,
    files: Sequence[SourceFile],
    toolchain: Toolchain,
    executor: BatchExecutor,
    progress: Progress = silent,
    *,
    options: ParseOptions = DEFAULT_OPTIONS,
    report: Callable[[HeaderReport], None] = unheard,
) -> list[ParsedFile]:
    """Parse every file of `files` that is selected (`skipped == ""`, a language), sorted by path bytes.

    `tree` is a scratch folder of this run that holds the repository's files as regular files under their own paths;
    the call may add `tree/.megacpp` (stub headers, precompiled headers), the compiler's view in a file beside `tree`,
    and nothing else. The result depends on the bytes of the tree, the toolchain's identity and the options, never on
    where the tree lies or who parses.
    `report` is told once what became of the shared headers, equal for equal results. Raises `ParseFailure` only if two
    symbols of the tree share one 64-bit hash.
    """
    root = Path(os.path.realpath(tree))
    units = plan_units(root, files, options.standards, database=options.database)
    write_view(str(root), toolchain.visible)
    plain = Batch(str(root), (), toolchain, options.limits)
    crew = Crew(executor, options.batch_files, options.wall_s)
    usable = _Headers(plain, _shared(root, files, units) if options.precompile else [], crew)
    parsed: dict[str, ParsedFile] = {}
    checks: list[NDArray[np.uint64]] = []
    progress(0, len(units))
    for result in usable.parse(units):
        parsed.update((file.path, file) for file in result.files)
        checks.append(result.checks)
        progress(len(parsed), len(units))
    _refuse_collisions(checks)
    report(usable.report)
    return [parsed[unit.path] for unit in units]


def _shared(root: Path, files: Sequence[SourceFile], units: Sequence[Unit]) -> list[SharedHeader]:
    """The headers that pay; none where the tree itself uses our folder."""
    if (root / WORK_FOLDER).is_symlink() or any(file.path.split("/", 1)[0] == WORK_FOLDER for file in files):
        return []
    return shared_headers(units, lambda path: read_source(root / path))


class _Headers:
    """Shared headers of one tree: built, audited on a sample of their units, used for the rest if they pass."""

    def __init__(self, plain: Batch, shared: Sequence[SharedHeader], crew: Crew) -> None:
        self._plain = plain
        self._shared = shared
        self._crew = crew
        self.report = HeaderReport(headers=len(shared))

    def parse(self, units: Sequence[Unit]) -> Iterator[BatchResult]:
        """Every unit's outcome, each once."""
        built = self._build()
        waiting = {unit.path for batch in built for unit in batch.units}
        rest = [unit for unit in units if unit.path not in waiting]
        good: list[Batch] = []
        for batch, sample, results in self._audit(built):
            if self._passes(sample, results):
                yield from results
                good.append(replace(batch, units=tuple(unit for unit in batch.units if unit not in sample)))
            else:
                rest += batch.units
        plain = [replace(self._plain, units=group) for group in group_by_arguments(rest)]
        for _, result in run_batches([*good, *plain], self._crew):
            yield result

    def _build(self) -> list[Batch]:
        """One batch per header that compiles without errors, all its units in it."""
        batches = [
            replace(self._plain, units=shared.units, header=Header(shared.text, f"{PCH_FOLDER}/{index}.pch"))
            for index, shared in enumerate(self._shared)
        ]
        first = [replace(batch, units=batch.units[:1]) for batch in batches]
        outcomes = self._crew.executor.run(build_header, first, timeout_s=self._crew.wall_s)
        built = [replace(batches[found.index], header=found.value) for found in outcomes if found.value is not None]
        self.report = replace(self.report, unbuilt=len(batches) - len(built))
        return built

    def _audit(self, built: Sequence[Batch]) -> Iterator[tuple[Batch, tuple[Unit, ...], list[BatchResult]]]:
        """Each batch with the sample of its units, and what became of those."""
        audits = [replace(batch, units=_sample(batch.units), audit=True) for batch in built]
        place = {unit.path: index for index, audit in enumerate(audits) for unit in audit.units}
        results: list[list[BatchResult]] = [[] for _ in audits]
        for piece, result in run_batches(audits, self._crew):
            results[place[piece.units[0].path]].append(result)
        for batch, audit, found in zip(built, audits, results, strict=True):
            yield batch, audit.units, found

    def _passes(self, sample: Sequence[Unit], results: Sequence[BatchResult]) -> bool:
        calls, differing = sum(result.calls for result in results), sum(result.differing for result in results)
        passes = differing <= AUDIT_TOLERANCE * calls
        self.report = replace(
            self.report,
            dropped=self.report.dropped + (not passes),
            units_audited=self.report.units_audited + len(sample),
            calls_compared=self.report.calls_compared + calls,
            calls_differing=self.report.calls_differing + differing,
        )
        return passes


def _sample(units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Units chosen by the hash of their path: the same in every run, and not all from one folder."""
    count = max(1, round(AUDIT_FRACTION * len(units)))
    return tuple(sorted(units, key=lambda unit: hashlib.sha256(unit.path.encode()).digest())[:count])


def _refuse_collisions(checks: Sequence[NDArray[np.uint64]]) -> None:
    if not checks:
        return
    pairs = np.unique(np.concatenate(checks), axis=0)
    usrs, counts = np.unique(pairs[:, 0], return_counts=True)
    if (counts > 1).any():
        clash = int(usrs[counts > 1][0])
        raise ParseFailure(f"symbol hash {clash:016x}", expected="one symbol", found="two")
