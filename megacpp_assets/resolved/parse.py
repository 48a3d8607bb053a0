"""Parses units of one tree in workers with limits, and reduces each to the facts of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from megacpp_assets.compute.gc_disabled import gc_disabled
from megacpp_assets.resolved.facts import Facts, facts_of
from megacpp_assets.resolved.headers import BuiltHeader
from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.commands.cuda import toolchain_arguments
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.batches import group_by_arguments
from megacpp_assets.semantic.parsing.lots import (
    Crew,
    FailureAction,
    cut,
    kept_journal,
    may_be_machine_failure,
    ran_out,
    run_lots,
)
from megacpp_assets.semantic.parsing.worker import (
    READS_OUTSIDE,
    Batch,
    Header,
    Readable,
    allow_unit,
    common_arguments,
    confined,
    flags_of,
)

_LOT_UNITS = 4


@dataclass(frozen=True, slots=True)
class Resolved:
    """The facts of a unit's file, and the number of errors of its parse.

    `reads` are the files that were read: paths in the tree, or of the compiler on this machine. It is None if the parse
    failed. `machines`: the machine may have caused the failure.
    """

    facts: Facts
    reads: tuple[str, ...] | None
    machines: bool = False
    errors: int = 0


class Unlimited:
    """The allowance of a history. Only the limits of each file apply, because a commit needs few files."""

    def charge(self, path: str, cpu_ms: int) -> None:
        """Record nothing."""

    def rejects(self, path: str) -> bool:
        """Reject no file."""
        return False

    def check_time(self) -> None:
        """Raise nothing."""


def resolve(
    units: Sequence[Unit], plain: Batch, crew: Crew, headers: Mapping[str, BuiltHeader]
) -> Iterator[tuple[Unit, Resolved]]:
    """Yield the result of each of `units`, in any order. `headers` has the header that a unit shares, by path.

    A unit that ended its worker is tried once more in a batch of its own without a header, unless its CPU time was
    spent.
    """
    groups: dict[Header | None, list[Unit]] = {}
    for unit in units:
        shared = headers.get(unit.path)
        groups.setdefault(shared.header if shared else None, []).append(unit)
    lots = [
        lot
        for header, group in groups.items()
        for alike in group_by_arguments(group)
        for lot in cut(replace(plain, units=alike, header=header), _LOT_UNITS)
    ]
    for lot, results in run_lots(resolve_batch, lots, crew, _after_failure):
        for unit, result in zip(lot.units, results, strict=True):
            yield unit, _with_header(result, headers.get(unit.path))


def _with_header(result: Resolved, shared: BuiltHeader | None) -> Resolved:
    """Return a result of which the files that the header read are a part, as it depends on them too."""
    if shared is None:
        return result
    reads = None if result.reads is None else tuple({*result.reads, *shared.files})
    return replace(result, reads=reads, machines=result.machines or shared.machines)


@gc_disabled
def resolve_batch(batch: Batch) -> tuple[Resolved, ...]:
    """Parse every unit of `batch` in order. No file raises an error, but a crash of libclang ends the process."""
    results = []
    with confined(batch) as readable, kept_journal(batch.journal) as note:
        for unit in batch.units:
            allow_unit(batch)
            result = _best(unit, batch, readable)
            if result.facts.reason and unit.through:  # a condition of the including file removes the fragment
                result = replace(_parsed(replace(unit, through=""), batch, readable), reads=None)
            results.append(result)
            note()
    return tuple(results)


def _best(unit: Unit, batch: Batch, readable: Readable) -> Resolved:
    """Return the parse with the header of the batch if it has no errors, else the one with fewer of both."""
    if batch.header is None or unit.through:
        return _parsed(unit, batch, readable)
    quick = _parsed(unit, batch, readable, batch.header)
    if quick.reads is not None and not quick.errors:
        return quick
    plain = _parsed(unit, batch, readable)
    return quick if quick.reads is not None and quick.errors < plain.errors else plain


def _parsed(unit: Unit, batch: Batch, readable: Readable, header: Header | None = None) -> Resolved:
    needed = [*toolchain_arguments(unit.arguments, batch.toolchain.resource_dir), *common_arguments(batch)]
    library, arguments = batch.toolchain.library, [*unit.arguments, *needed]
    if header is not None:
        arguments += ["-include-pch", header.output]
    try:
        found = _visitor.parse(
            library, unit.parsed, arguments, flags_of(unit), batch.limits.cursors, unit.path, places=True
        )
    except RuntimeError as error:
        return Resolved(Facts(reason=f"not parsed: {error}"), None)
    if readable.count_outside(found["includes"]):
        return Resolved(Facts(reason=READS_OUTSIDE), None)
    return Resolved(facts_of(found), readable.names(found["includes"]), errors=found["errors"])


def _after_failure(batch: Batch, failure: str) -> FailureAction:
    machines = may_be_machine_failure(failure)
    if not batch.again and not ran_out(failure):
        return FailureAction(replace(batch, header=None, again=True, unlucky=machines))
    reason = "over budget: not parsed in its CPU seconds" if ran_out(failure) else "the parser did not survive the file"
    return FailureAction(cancelled=(batch, Resolved(Facts(reason=reason), None, machines or batch.unlucky)))
