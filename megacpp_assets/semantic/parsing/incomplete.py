"""Chooses the files that are parsed again inside of a file that includes them, because they have errors by themselves.

Many headers of C are complete only behind others, and some sources only inside of another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from megacpp_assets.compute.executors.executor import BatchExecutor
from megacpp_assets.semantic.commands.plan import Unit
from megacpp_assets.semantic.parsing.planning import IncludersQuestion, plan_within
from megacpp_assets.semantic.parsing.worker import Limits, UnitResult

_UNITS_PER_INCOMPLETE = 4
"""At most one of so many units of a tree is parsed again."""


class Faults(NamedTuple):
    """How bad the first parse of a unit was, and the milliseconds of CPU time that it took."""

    is_failed: bool
    errors: int
    missing: int
    cpu_ms: int


class FirstParses:
    """The faults of the units of a tree in their first parses, with which second parses are compared."""

    def __init__(self) -> None:
        self._faults: dict[str, Faults] = {}

    def note(self, result: UnitResult) -> None:
        """Record the first parse of a unit."""
        is_failed, errors = result.faults
        if is_failed or errors:
            self._faults[result.file.path] = Faults(is_failed, errors, result.missing, result.cpu_ms)

    def within(self, tree: Path, units: Sequence[Unit], executor: BatchExecutor, limits: Limits) -> Sequence[Unit]:
        """Return those of `units` that may only lack what is included before them, each inside of a file that includes
        it and has no errors: those with the most errors, none of them about an included file that does not exist.
        """
        wanted = [path for path, faults in self._faults.items() if not faults.is_failed and not faults.missing]
        wanted.sort(key=lambda path: (-self._faults[path].errors, path.encode("utf-8", "surrogateescape")))
        wanted = wanted[: len(units) // _UNITS_PER_INCOMPLETE]
        question = IncludersQuestion(str(tree), units, frozenset(self._faults), frozenset(wanted), limits)
        return plan_within(question, executor) if wanted else ()

    def is_better(self, result: UnitResult) -> bool:
        """Return whether a second parse has fewer faults than the first."""
        return result.faults < self._faults[result.file.path][:2]

    def cost(self, result: UnitResult) -> int:
        """Return the milliseconds of CPU time of both parses."""
        return self._faults[result.file.path].cpu_ms + result.cpu_ms
