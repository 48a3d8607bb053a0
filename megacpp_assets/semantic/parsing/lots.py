"""Distributes lots of untrusted files over workers, although any file may end its worker.

A worker writes to the journal of its lot how many units are done. If it ends, the next unit was the cause. Only that
unit is treated as failed; the others of the lot are tried again.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import Field, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from megacpp_assets.compute.executors.executor import BatchExecutor

_ENDED = re.compile(r"crash: worker ended with exit code (-?\d+)")
_FROM_OTHERS = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM}
_PATIENCE_S = 60.0
"""Wall seconds in addition to those of the units, which the worker itself enforces."""


class Allowance(Protocol):
    """The CPU and wall time that a repository may use."""

    def charge(self, path: str, cpu_ms: int) -> None:
        """Record the cost of the file at `path`, in milliseconds of CPU time."""

    def rejects(self, path: str) -> bool:
        """Return whether the file at `path` exceeds the allowance."""

    def check_time(self) -> None:
        """Raise `OverBudget` when the run has taken more wall seconds than allowed."""


@dataclass(frozen=True, slots=True)
class Crew:
    """The executor, the allowance of the repository, and the folder of journals (None if no processes are used)."""

    executor: BatchExecutor
    allowance: Allowance
    journals: Path | None = None


class _AnyLot(Protocol):
    """A lot, a frozen dataclass: units, each with a `path`, the wall seconds of one unit, and the journal's path."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def units(self) -> tuple[Any, ...]: ...
    @property
    def wall_s(self) -> float: ...
    @property
    def journal(self) -> str: ...


Lot = TypeVar("Lot", bound=_AnyLot)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class FailureAction:
    """The action after a unit ended its worker: `retry` is the lot to try next, `cancelled` the lot and its result."""

    retry: Any = None
    cancelled: tuple[Any, Any] | None = None


def cut(lot: Lot, size: int) -> list[Lot]:
    """Return `lot` in pieces of at most `size` units, in their order."""
    return [replace(lot, units=lot.units[start : start + size]) for start in range(0, len(lot.units), size)]


def run_lots(
    function: Callable[[Lot], tuple[Result, ...]],
    lots: Sequence[Lot],
    crew: Crew,
    after_failure: Callable[[Lot, str], FailureAction],
) -> Iterator[tuple[Lot, tuple[Result, ...]]]:
    """Yield the results of every lot's units, with their lot, in any order. Each unit comes at most once.

    Units that the allowance rejects when their turn comes are left out. If a unit ended its worker, `after_failure` is
    called with a lot of this unit alone and the executor's message.
    """
    pending = list(lots)
    while pending:
        timeout_s = _PATIENCE_S + max(lot.wall_s * len(lot.units) for lot in pending)
        offered: dict[int, Lot] = {}
        retry: list[Lot] = []
        for outcome in crew.executor.run(function, _offer(pending, crew, offered), timeout_s=timeout_s):
            crew.allowance.check_time()
            lot = offered.pop(outcome.index)
            if outcome.value is not None:
                yield lot, outcome.value
                continue
            failed, others = _split_at_failure(lot)
            retry += others
            if failed is not None:
                action = after_failure(failed, outcome.failure or "crash")
                if action.cancelled:
                    yield action.cancelled[0], (action.cancelled[1],)
                else:
                    retry.append(action.retry)
        pending = retry


def _offer(pending: Sequence[Lot], crew: Crew, offered: dict[int, Lot]) -> Iterator[Lot]:
    """Yield the lots of `pending` that are still to be done when their turn comes. Each is recorded in `offered`."""
    number = 0
    for lot in pending:
        units = tuple(unit for unit in lot.units if not crew.allowance.rejects(unit.path))
        if units:
            folder = tempfile.mkdtemp(dir=crew.journals) if crew.journals else ""
            offered[number] = replace(lot, units=units, journal=folder and f"{folder}/done")
            yield offered[number]
            number += 1


def _split_at_failure(lot: Lot) -> tuple[Lot | None, list[Lot]]:
    """Return the unit that ended the worker and the other units; None and all units without a journal."""
    done = _done(lot)
    if done is None:
        return None, cut(lot, 1)
    parts = (lot.units[:done], lot.units[done + 1 :])
    return replace(lot, units=lot.units[done : done + 1]), [replace(lot, units=part) for part in parts if part]


def _done(lot: _AnyLot) -> int | None:
    if len(lot.units) == 1:
        return 0
    try:
        return min(os.path.getsize(lot.journal), len(lot.units) - 1) if lot.journal else None
    except FileNotFoundError:
        return None


@contextmanager
def kept_journal(path: str) -> Iterator[Callable[[], object]]:
    """In a worker: yield a callback to call after each unit. It writes a byte, which the parent sees if this ends.

    A worker on another host has no folder of the parent and writes nothing.
    """
    if not path or not os.path.isdir(os.path.dirname(path)):
        yield lambda: None
        return
    with open(path, "wb", buffering=0) as file:
        yield lambda: file.write(b".")


def may_be_machine_failure(failure: str) -> bool:
    """Return whether the machine may have caused a failure: it was too slow or short of memory, or a worker was lost.

    A file can only cause signals that the worker raises itself, and signals of the limits of CPU time and memory.
    """
    ended = _ENDED.fullmatch(failure)
    return ended is None or -int(ended[1]) in _FROM_OTHERS


def ran_out(failure: str) -> bool:
    """Return whether an executor's message means that the worker reached its limit of CPU seconds."""
    ended = _ENDED.fullmatch(failure)
    return ended is not None and -int(ended[1]) == signal.SIGXCPU
