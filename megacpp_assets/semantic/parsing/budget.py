"""Limits the CPU seconds of all files of a repository together. Files over the budget are rejected in a fixed order.

The caller gives the order. The cost of a file is the CPU time of its parse, in this run or an earlier one. So the same
files are rejected, whichever is parsed first and whatever is cached.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from megacpp_assets.contract.errors import OverBudget

OVER_BUDGET = "over budget: the repository's CPU seconds were spent on the files before it"


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a repository: `base_cpu_s`, and `unit_cpu_s` for each file; wall seconds are `wall_per_cpu`
    times as many.
    """

    base_cpu_s: int = 3600
    unit_cpu_s: int = 10
    wall_per_cpu: int = 10

    def cpu_s(self, units: int) -> int:
        """Return the CPU seconds for a number of files."""
        return self.base_cpu_s + units * self.unit_cpu_s


class Ledger:
    """Adds up the CPU time of files in the order of `paths`, and rejects those after the budget was exceeded."""

    def __init__(self, paths: Sequence[str], cpu_s: float) -> None:
        self._place = {path: place for place, path in enumerate(paths)}
        self._cost = np.zeros(len(paths), np.int64)
        self._budget = int(cpu_s * 1000)
        self._spent = 0
        self._first_rejected = len(paths)

    def charge(self, path: str, cpu_ms: int) -> None:
        """Set the cost of `path` to `cpu_ms`, in place of an earlier cost."""
        place = self._place[path]
        self._spent += cpu_ms - int(self._cost[place])
        self._cost[place] = cpu_ms
        if self._spent > self._budget:
            spent = np.cumsum(self._cost)
            self._first_rejected = int(np.searchsorted(spent, self._budget, side="right")) + 1

    def rejects(self, path: str) -> bool:
        """Return whether the paths before `path` cost more than the budget.

        So the file that exceeds it still passes.
        """
        return self._place[path] >= self._first_rejected


class CpuBudget(Ledger):
    """The CPU time that `paths` may use together, and a limit of wall time, which includes `file_wall_s`."""

    def __init__(self, paths: Sequence[str], budget: Budget, file_wall_s: float) -> None:
        cpu_s = budget.cpu_s(len(paths))
        super().__init__(paths, cpu_s)
        self._wall_s = file_wall_s + budget.wall_per_cpu * cpu_s
        self._deadline = time.monotonic() + self._wall_s

    def check_time(self) -> None:
        """Raise `OverBudget` after the wall time. Parsed files are kept, and the next run resumes from them."""
        if time.monotonic() > self._deadline:
            raise OverBudget(
                "indexing the repository",
                expected=f"at most {self._wall_s:,.0f} seconds of wall time",
                found="more",
                do="run again on a machine with less load, or raise the recipe's semantic.wall_per_cpu",
            )
