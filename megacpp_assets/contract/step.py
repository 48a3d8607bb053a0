"""What a step reports: its progress, which the command line draws and Dagster logs, and the result of each check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Progress(Protocol):
    """A function called with the number of units done and of all units (files, documents, steps)."""

    def __call__(self, done: int, total: int) -> None:
        """Report progress. It must be cheap and must not raise."""


def silent(done: int, total: int) -> None:
    """A `Progress` that does nothing."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check. `expected` says what must hold, `found` what was measured.

    `name` is in snake_case and unique within a stage. A failed check that is not `blocking` only warns, because a valid
    repository can fail it too.
    """

    name: str
    passed: bool
    expected: str
    found: str
    blocking: bool = True
