"""The shape of all checks: a table of named checks, one line each, over what an artifact holds.

Each module of a stage has `CHECKS`, its table, and `check(artifact)`. The tables load without Arrow or numpy, so that
listing the checks of all stages is cheap; what reads artifacts lies in `reading/` and is imported when a check runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.errors import MegacppError

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a check holds, and what was found."""

    holds: bool
    found: str


@dataclass(frozen=True, slots=True)
class Check(Generic[Subject]):
    """A line of a table: `expected` says what must hold, `judge` finds out; one that is not `blocking` only warns."""

    name: str
    expected: str
    judge: Callable[[Subject], Verdict]
    blocking: bool = True

    def result(self, verdict: Verdict) -> CheckResult:
        """The check's result, given its verdict."""
        return CheckResult(self.name, verdict.holds, self.expected, verdict.found, self.blocking)


def judged(checks: Sequence[Check[Subject]], subject: Subject) -> list[CheckResult]:
    """The result of every check, in order. A check that meets an input which cannot be read fails and says so."""
    return [check.result(_verdict(check, subject)) for check in checks]


def unmeasured(checks: Sequence[Check[Subject]], first: Verdict) -> list[CheckResult]:
    """Results where the first check did not hold and the others rest on it."""
    return [checks[0].result(first), *failing(checks[1:], f"not measured: {checks[0].name} does not hold")]


def failing(checks: Sequence[Check[Subject]], found: str) -> list[CheckResult]:
    """Results where the artifact could not be read at all."""
    return [check.result(Verdict(False, found)) for check in checks]


def _verdict(check: Check[Subject], subject: Subject) -> Verdict:
    try:
        return check.judge(subject)
    except MegacppError as error:
        return Verdict(False, error.cause)
