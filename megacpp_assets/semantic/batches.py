"""Batches of units for workers, and what becomes of one that dies: the guilty file stands alone, the rest goes on."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from megacpp_assets.compute.executor import BatchExecutor
from megacpp_assets.semantic.parsed import ParsedFile
from megacpp_assets.semantic.plan import Unit
from megacpp_assets.semantic.worker import Batch, UnitResult, parse_batch

_ENDED = re.compile(r"crash: worker ended with exit code (-?\d+)")
_FROM_OTHERS = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM}


@dataclass(frozen=True, slots=True)
class Crew:
    """Who parses: an executor, the files a batch may hold, and the folder where workers note how far they are.

    `allowance` is what the repository may spend in this run: files that it refuses are not parsed.
    """

    executor: BatchExecutor
    batch_files: int
    allowance: Allowance
    journals: Path | None = None


class Allowance(Protocol):
    """What a repository may spend."""

    def refuses(self, path: str) -> bool:
        """Whether the file at `path` is past it."""

    def check_time(self) -> None:
        """Raise `OverBudget` once the run has taken more wall seconds than it may."""


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
    """Outcomes of units, with the piece of a batch that they came from, in any order; each unit comes at most once.

    Those that the allowance refuses by then do not come. A file that ends its worker is tried once more, alone and
    without a precompiled header: not if its CPU seconds were spent without one, and where it may have been the
    machine, once with the header before that.
    """
    pending = [piece for batch in batches for piece in cut(batch, crew.batch_files)]
    while pending:
        timeout_s = 60 + max(batch.limits.wall_s * len(batch.units) for batch in pending)
        offered: list[Batch] = []
        retry: list[Batch] = []
        for outcome in crew.executor.run(parse_batch, _offer(pending, crew, offered), timeout_s=timeout_s):
            crew.allowance.check_time()
            batch = offered[outcome.index]
            if outcome.value is not None:
                yield batch, outcome.value
                continue
            guilty, innocent = _sentenced(batch)
            retry += innocent
            if guilty is not None:
                failure = outcome.failure or "crash"
                again = _second_try(guilty, failure)
                if again is None:
                    lost = replace(guilty, unlucky=guilty.unlucky or is_machines(failure))
                    yield lost, (_given_up(lost, failure),)
                else:
                    retry.append(again)
        pending = retry


def _offer(pending: Sequence[Batch], crew: Crew, offered: list[Batch]) -> Iterator[Batch]:
    """What of `pending` is still to be parsed when its turn comes; each batch is noted in `offered`."""
    for batch in pending:
        units = tuple(unit for unit in batch.units if not crew.allowance.refuses(unit.path))
        if units:
            journal = tempfile.mkdtemp(dir=crew.journals) if crew.journals else ""
            offered.append(replace(batch, units=units, journal=journal and f"{journal}/done"))
            yield offered[-1]


def _sentenced(batch: Batch) -> tuple[Batch | None, list[Batch]]:
    """The unit of a dead `batch` that ended it, and the others; None if the worker did not say how far it was."""
    done = _done(batch)
    if done is None:
        return None, cut(batch, 1)
    parts = (batch.units[:done], batch.units[done + 1 :])
    return replace(batch, units=batch.units[done : done + 1]), [replace(batch, units=part) for part in parts if part]


def _done(batch: Batch) -> int | None:
    if len(batch.units) == 1:
        return 0
    try:
        return min(os.path.getsize(batch.journal), len(batch.units) - 1) if batch.journal else None
    except FileNotFoundError:
        return None


def _second_try(batch: Batch, failure: str) -> Batch | None:
    """How the one unit of `batch` is tried after `failure`; None if it is given up."""
    machines = is_machines(failure)
    if batch.header is not None:
        if machines and not batch.again:
            return replace(batch, again=True, unlucky=True)
        return replace(batch, header=None, audit=False, again=True, unlucky=machines)
    return None if batch.again or _ran_out(failure) else replace(batch, again=True, unlucky=machines)


def is_machines(failure: str) -> bool:
    """Whether an executor's words may tell of a loaded machine: too slow, out of memory, or a worker lost unseen.

    Signals of the parser's own making and its limits of CPU seconds and memory are a file's doing.
    """
    ended = _ENDED.fullmatch(failure)
    return ended is None or -int(ended[1]) in _FROM_OTHERS


def _ran_out(failure: str) -> bool:
    ended = _ENDED.fullmatch(failure)
    return ended is not None and -int(ended[1]) == signal.SIGXCPU


def _given_up(batch: Batch, failure: str) -> UnitResult:
    """The outcome of the one unit of `batch`; it is charged all that it was allowed, which is the same in each run."""
    (unit,) = batch.units
    # The executor's words may name this machine; the kind of failure is what is recorded.
    reason = f"{failure.partition(':')[0]}: the parser did not survive the file"
    if _ran_out(failure):
        reason = f"over budget: not parsed in {batch.limits.cpu_s} CPU seconds"
    cpu_s = batch.limits.cpu_s + (batch.limits.again_cpu_s if batch.again else 0)
    return UnitResult(ParsedFile(unit.path, "failed", unit.mode, reason), cpu_ms=1000 * cpu_s)
