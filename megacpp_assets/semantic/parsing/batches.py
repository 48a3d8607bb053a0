"""Divides units into batches for workers, and decides what happens with a unit that ended its worker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.lots import Crew, FailureAction, cut, may_be_machine_failure, ran_out, run_lots
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.worker import Batch, UnitResult, parse_batch


def group_by_arguments(units: Sequence[Unit]) -> list[tuple[Unit, ...]]:
    """Return units that share their arguments, each group in the given order."""
    groups: dict[tuple[str, ...], list[Unit]] = defaultdict(list)
    for unit in units:
        groups[unit.arguments].append(unit)
    return [tuple(group) for _, group in sorted(groups.items())]


def run_batches(
    batches: Sequence[Batch], crew: Crew, batch_files: int
) -> Iterator[tuple[Batch, tuple[UnitResult, ...]]]:
    """Yield the results of units with their batch of at most `batch_files`, in any order; see `run_lots`.

    A file that ended its worker is tried again, in a batch of its own without a precompiled header, unless its CPU time
    was spent. If the machine may have been the cause, the file is first tried once more with the header.
    """
    lots = [lot for batch in batches for lot in cut(batch, batch_files)]
    return run_lots(parse_batch, lots, crew, _after_failure)


def _after_failure(batch: Batch, failure: str) -> FailureAction:
    by_machine = may_be_machine_failure(failure)
    if batch.header is not None and not ran_out(failure):
        if by_machine and not batch.again:
            return FailureAction(replace(batch, again=True, unlucky=True))
        return FailureAction(replace(batch, header=None, audit=False, again=True, unlucky=by_machine))
    if not batch.again and not ran_out(failure):
        return FailureAction(replace(batch, again=True, unlucky=by_machine))
    return FailureAction(cancelled=(replace(batch, unlucky=batch.unlucky or by_machine), _failed(batch, failure)))


def _failed(batch: Batch, failure: str) -> UnitResult:
    """Return the result of the one unit of `batch`, which failed.

    Its cost is all the CPU time that it was allowed, because a measured time would differ between runs.
    """
    (unit,) = batch.units
    # The executor's message may name this machine, so only the kind of failure is recorded.
    kind, _, error = failure.partition(": ")
    reason = f"{kind}: the parser did not survive the file"
    if kind == "error":
        reason = f"error: {error.partition(':')[0]} in this program, not in the parser"
    if ran_out(failure):
        reason = f"over budget: not parsed in {batch.limits.cpu_s} CPU seconds"
    cpu_s = batch.limits.cpu_s + (batch.limits.again_cpu_s if batch.again else 0)
    return UnitResult(ParsedFile(unit.path, "failed", unit.mode, reason), cpu_ms=1000 * cpu_s)
