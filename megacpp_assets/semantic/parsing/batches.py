"""Divides units into batches for workers, and decides what happens with a unit that ended its worker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.lots import Crew, Sentence, cut, is_machines, ran_out, run_lots
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
    """Yield outcomes of units with their lot of at most `batch_files`, in any order; see `run_lots`.

    A file that ended its worker is tried again, alone and without a precompiled header, unless its CPU seconds were
    spent. If the machine may have been the cause, it is first tried once more with the header.
    """
    lots = [lot for batch in batches for lot in cut(batch, batch_files)]
    return run_lots(parse_batch, lots, crew, _judge)


def _judge(batch: Batch, failure: str) -> Sentence:
    machines = is_machines(failure)
    if batch.header is not None and not ran_out(failure):
        if machines and not batch.again:
            return Sentence(replace(batch, again=True, unlucky=True))
        return Sentence(replace(batch, header=None, audit=False, again=True, unlucky=machines))
    if not batch.again and not ran_out(failure):
        return Sentence(replace(batch, again=True, unlucky=machines))
    return Sentence(given_up=(replace(batch, unlucky=batch.unlucky or machines), _given_up(batch, failure)))


def _given_up(batch: Batch, failure: str) -> UnitResult:
    """Return the outcome of the one unit of `batch`. It is charged all that it was allowed, which is the same in
    each run.
    """
    (unit,) = batch.units
    # The executor's message may name this machine, so only the kind of failure is recorded.
    reason = f"{failure.partition(':')[0]}: the parser did not survive the file"
    if ran_out(failure):
        reason = f"over budget: not parsed in {batch.limits.cpu_s} CPU seconds"
    cpu_s = batch.limits.cpu_s + (batch.limits.again_cpu_s if batch.again else 0)
    return UnitResult(ParsedFile(unit.path, "failed", unit.mode, reason), cpu_ms=1000 * cpu_s)
