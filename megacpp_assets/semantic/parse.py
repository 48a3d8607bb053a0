"""A tree of source bytes in, one `ParsedFile` per C/C++ file out, in path order. A file may fail; the call does not."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.compute.executor import BatchExecutor, Outcome
from megacpp_assets.contract.errors import ParseFailure
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.contract.source_file import SourceFile
from megacpp_assets.semantic.parsed import ParsedFile
from megacpp_assets.semantic.plan import Standards, Unit, plan_units
from megacpp_assets.semantic.toolchain import Toolchain
from megacpp_assets.semantic.worker import Batch, BatchResult, Limits, parse_batch


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """What decides the outcome beside tree and toolchain; belongs in the stage's configuration.

    `database` is the tree-relative path of a compile database to use instead of searching. A batch of
    `batch_files` files may take `wall_s` seconds per file before it counts as hung.
    """

    standards: Standards = field(default_factory=Standards)
    database: str | None = None
    limits: Limits = field(default_factory=Limits)
    batch_files: int = 16
    wall_s: float = 120.0


DEFAULT_OPTIONS = ParseOptions()
_PIECES = 4


def parse_tree(
    tree: Path,
    files: Sequence[SourceFile],
    toolchain: Toolchain,
    executor: BatchExecutor,
    progress: Progress = silent,
    *,
    options: ParseOptions = DEFAULT_OPTIONS,
) -> list[ParsedFile]:
    """Parse every file of `files` that is selected (`skipped == ""`, a language), sorted by path bytes.

    `tree` is a scratch folder of this run that holds the repository's files as regular files under their own paths;
    the call may add `tree/.megacpp` (stub headers, precompiled headers) and nothing else. The result depends on the
    bytes of the tree, the toolchain's identity and the options, never on where the tree lies or who parses.
    Raises `ParseFailure` only if two symbols of the tree share one 64-bit hash.
    """
    units = plan_units(tree, files, options.standards, database=options.database)
    parsed: dict[str, ParsedFile] = {}
    checks: list[NDArray[np.uint64]] = []
    progress(0, len(units))
    for unit_results in _run(tree, units, toolchain, executor, options):
        parsed.update((file.path, file) for file in unit_results.files)
        checks.append(unit_results.checks)
        progress(len(parsed), len(units))
    _refuse_collisions(checks)
    return [parsed[unit.path] for unit in units]


def group_batches(units: Sequence[Unit], size: int) -> list[tuple[Unit, ...]]:
    """Units that share their arguments, in path order, at most `size` together."""
    groups: dict[tuple[str, ...], list[Unit]] = defaultdict(list)
    for unit in units:
        groups[unit.arguments].append(unit)
    return [
        tuple(group[start : start + size])
        for _, group in sorted(groups.items())
        for start in range(0, len(group), size)
    ]


def _run(
    tree: Path, units: Sequence[Unit], toolchain: Toolchain, executor: BatchExecutor, options: ParseOptions
) -> Iterator[BatchResult]:
    """Run all batches; one that dies is cut smaller until the guilty file stands alone."""
    pending = group_batches(units, options.batch_files)
    condemned: set[str] = set()
    while pending:
        batches = [Batch(os.path.realpath(tree), group, toolchain, options.limits) for group in pending]
        longest = options.wall_s * max(len(group) for group in pending)
        retry: list[tuple[Unit, ...]] = []
        for outcome in executor.run(parse_batch, batches, timeout_s=longest):
            group = pending[outcome.index]
            if outcome.value is not None:
                yield outcome.value
            elif len(group) == 1 and group[0].path in condemned:
                yield _failed(group[0], outcome)
            else:
                condemned.update(unit.path for unit in group)
                retry += _cut(group)
        pending = retry


def _cut(group: tuple[Unit, ...]) -> list[tuple[Unit, ...]]:
    size = -(-len(group) // _PIECES)
    return [group[start : start + size] for start in range(0, len(group), size)]


def _failed(unit: Unit, outcome: Outcome[BatchResult]) -> BatchResult:
    # The executor's words may name this machine; the kind of failure is what is recorded.
    kind = (outcome.failure or "crash").partition(":")[0]
    file = ParsedFile(unit.path, "failed", unit.mode, f"{kind}: the parser did not survive the file")
    return BatchResult((file,), np.empty((0, 2), np.uint64))


def _refuse_collisions(checks: Sequence[NDArray[np.uint64]]) -> None:
    if not checks:
        return
    pairs = np.unique(np.concatenate(checks), axis=0)
    usrs, counts = np.unique(pairs[:, 0], return_counts=True)
    if (counts > 1).any():
        clash = int(usrs[counts > 1][0])
        raise ParseFailure(f"symbol hash {clash:016x}", expected="one symbol", found="two")
