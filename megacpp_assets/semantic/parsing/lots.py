"""Distributes a stranger's files over workers that any file may kill. In a lot that died, only the guilty file is
set apart.

A worker writes to the lot's journal how many of its units are done. The next one ended it.
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

from megacpp_assets.compute.executor import BatchExecutor

_ENDED = re.compile(r"crash: worker ended with exit code (-?\d+)")
_FROM_OTHERS = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM}
_PATIENCE_S = 60.0
"""Wall seconds in addition to those of the units, which the worker itself enforces."""


class Allowance(Protocol):
    """What a repository may spend."""

    def charge(self, path: str, cpu_ms: int) -> None:
        """Record the cost of the file at `path`, in milliseconds of CPU time."""

    def refuses(self, path: str) -> bool:
        """Return whether the file at `path` exceeds the allowance."""

    def check_time(self) -> None:
        """Raise `OverBudget` when the run has taken more wall seconds than allowed."""


@dataclass(frozen=True, slots=True)
class Crew:
    """The executor, what the repository may spend, and the folder of journals (None inside this process)."""

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
class Sentence:
    """What happens with the one unit of a lot that ended its worker: another `try_` of it, or the given-up lot with
    a result.
    """

    try_: Any = None
    given_up: tuple[Any, Any] | None = None


def cut(lot: Lot, size: int) -> list[Lot]:
    """Return `lot` in pieces of at most `size` units, in their order."""
    return [replace(lot, units=lot.units[start : start + size]) for start in range(0, len(lot.units), size)]


def run_lots(
    function: Callable[[Lot], tuple[Result, ...]],
    lots: Sequence[Lot],
    crew: Crew,
    judge: Callable[[Lot, str], Sentence],
) -> Iterator[tuple[Lot, tuple[Result, ...]]]:
    """Yield the results of every lot's units, with their lot, in any order. Each unit comes at most once.

    Units that the allowance rejects when their turn comes are left out. `judge` decides about a unit that ended its
    worker alone in its lot.
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
            guilty, innocent = _told_apart(lot)
            retry += innocent
            if guilty is not None:
                sentence = judge(guilty, outcome.failure or "crash")
                if sentence.given_up:
                    yield sentence.given_up[0], (sentence.given_up[1],)
                else:
                    retry.append(sentence.try_)
        pending = retry


def _offer(pending: Sequence[Lot], crew: Crew, offered: dict[int, Lot]) -> Iterator[Lot]:
    """Yield the lots of `pending` that are still to be done when their turn comes. Each is recorded in `offered`."""
    number = 0
    for lot in pending:
        units = tuple(unit for unit in lot.units if not crew.allowance.refuses(unit.path))
        if units:
            folder = tempfile.mkdtemp(dir=crew.journals) if crew.journals else ""
            offered[number] = replace(lot, units=units, journal=folder and f"{folder}/done")
            yield offered[number]
            number += 1


def _told_apart(lot: Lot) -> tuple[Lot | None, list[Lot]]:
    """Return the unit of a dead `lot` that ended it, and the others. The unit is None if the worker left no journal."""
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
    """In a worker: return a callback that records each finished unit where the parent sees it even if this process
    dies.
    """
    if not path:
        yield lambda: None
        return
    with open(path, "wb", buffering=0) as file:
        yield lambda: file.write(b".")


def is_machines(failure: str) -> bool:
    """Return whether an executor's message may mean a loaded machine: too slow, out of memory, or a worker lost.

    A file causes signals of the worker itself and limits of CPU seconds and memory.
    """
    ended = _ENDED.fullmatch(failure)
    return ended is None or -int(ended[1]) in _FROM_OTHERS


def ran_out(failure: str) -> bool:
    """Return whether an executor's message means that the CPU seconds were spent."""
    ended = _ENDED.fullmatch(failure)
    return ended is not None and -int(ended[1]) == signal.SIGXCPU
