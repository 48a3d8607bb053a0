"""The common form of all checks: a table of named checks, and functions that run a table on an artifact's content.

The module of a stage has `CHECKS`, its table, and `check(artifact)`. The tables load without Arrow or numpy, so that
listing the checks of all stages is cheap. The code that reads artifacts is in `reading/` and is imported when checks
run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from megacpp_assets.contract.errors import MegacppError, SpecError
from megacpp_assets.contract.step import CheckResult

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a check holds, and text that says what was found."""

    holds: bool
    found: str


@dataclass(frozen=True, slots=True)
class Check(Generic[Subject]):
    """A line of a table: `expected` says what must hold, and `judge` finds out whether it does.

    A failed check that is not `blocking` only warns. `recipe` names the sections or keys of the recipe whose rules can
    make it fail, or is "".
    """

    name: str
    expected: str
    judge: Callable[[Subject], Verdict]
    blocking: bool = True
    recipe: str = ""

    def __post_init__(self) -> None:
        code = getattr(self.judge, "__code__", None)
        if code is not None and code.co_argcount != 1:
            raise SpecError(
                f"check {self.name}",
                expected="a judge with one argument, what the checks of this table look at",
                found=f"{code.co_name} with {code.co_argcount} arguments",
                do="wrap a rule for single records, as _Records and _rule in quality/semantic.py do",
            )

    def result(self, verdict: Verdict) -> CheckResult:
        """Return the result of this check for a verdict."""
        return CheckResult(self.name, verdict.holds, self.expected, verdict.found, self.blocking)


def run_checks(checks: Sequence[Check[Subject]], subject: Subject) -> list[CheckResult]:
    """Return the results of all checks, in order.

    A check that raises `MegacppError` fails, with the error as what was found.
    """
    return [check.result(_verdict(check, subject)) for check in checks]


def fail_dependent(checks: Sequence[Check[Subject]], first: Verdict) -> list[CheckResult]:
    """Results if the first check does not hold: all others depend on it, so they fail without being run."""
    return [checks[0].result(first), *fail_all(checks[1:], f"not measured: {checks[0].name} does not hold")]


def fail_all(checks: Sequence[Check[Subject]], found: str) -> list[CheckResult]:
    """Results if the artifact cannot be read at all: every check fails with the same text `found`."""
    return [check.result(Verdict(False, found)) for check in checks]


def _verdict(check: Check[Subject], subject: Subject) -> Verdict:
    try:
        return check.judge(subject)
    except MegacppError as error:
        return Verdict(False, error.cause)
