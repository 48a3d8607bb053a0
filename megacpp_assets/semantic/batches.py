"""Batches of units for workers, and what becomes of a batch that dies: it is cut until the guilty file stands alone."""

from __future__ import annotations

import re
import signal
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from megacpp_assets.compute.executor import BatchExecutor
from megacpp_assets.semantic.parsed import ParsedFile
from megacpp_assets.semantic.plan import Unit
from megacpp_assets.semantic.worker import Batch, UnitResult, parse_batch

_PIECES = 4
_ENDED = re.compile(r"crash: worker ended with exit code (-?\d+)")
_FROM_OTHERS = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


@dataclass(frozen=True, slots=True)
class Crew:
    """Who parses: an executor, the files a batch may hold, and the seconds per file after which a batch has hung."""

    executor: BatchExecutor
    batch_files: int
    wall_s: float


def cut(batch: Batch, size: int) -> list[Batch]:
    """`batch` in pieces of at most `size` units, in their order."""
    return [replace(batch, units=batch.units[start : start + size]) for start in range(0, len(batch.units), size)]


def group_by_arguments(units: Sequence[Unit]) -> list[tuple[Unit, ...]]:
    """Units that share their arguments, each group in the order given."""
    groups: dict[tuple[str, ...], list[Unit]] = defaultdict(list)
    for unit in units:
        groups[unit.arguments].append(unit)
    return [tuple(group) for _, group in sorted(groups.items())]


def run_batches(batches: Sequence[Batch], crew: Crew) -> Iterator[tuple[Batch, tuple[UnitResult, ...]]]:
    """Every unit's outcome, with the piece of a batch that it came from, in any order; each unit comes exactly once.

    A file is given up only after it failed alone, without a precompiled header, and not for the first time.
    """
    pending = [piece for batch in batches for piece in cut(batch, crew.batch_files)]
    suspects: set[str] = set()
    while pending:
        timeout_s = crew.wall_s * max(len(batch.units) for batch in pending)
        retry: list[Batch] = []
        for outcome in crew.executor.run(parse_batch, pending, timeout_s=timeout_s):
            batch = pending[outcome.index]
            if outcome.value is not None:
                yield batch, outcome.value
            elif len(batch.units) > 1:
                retry += cut(batch, -(-len(batch.units) // _PIECES))
            elif batch.header is not None or batch.units[0].path not in suspects:
                unlucky = is_machines(outcome.failure or "")
                retry.append(replace(batch, header=None, audit=False, unlucky=unlucky))
            else:
                unlucky = batch.unlucky or is_machines(outcome.failure or "")
                yield replace(batch, unlucky=unlucky), (_given_up(batch.units[0], outcome.failure or "crash"),)
            if outcome.value is None:
                suspects.update(unit.path for unit in batch.units)
        pending = retry


def is_machines(failure: str) -> bool:
    """Whether an executor's words may tell of a loaded machine: too slow, out of memory, or a worker lost unseen.

    Signals of the parser's own making and its limits of CPU seconds and memory are a file's doing.
    """
    ended = _ENDED.fullmatch(failure)
    return ended is None or -int(ended[1]) in _FROM_OTHERS


def _given_up(unit: Unit, failure: str) -> UnitResult:
    # The executor's words may name this machine; the kind of failure is what is recorded.
    reason = f"{failure.partition(':')[0]}: the parser did not survive the file"
    return UnitResult(ParsedFile(unit.path, "failed", unit.mode, reason))
