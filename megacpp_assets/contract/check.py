"""The result of asserting one invariant of one artifact."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckResult:
    """`name` is snake_case and unique within a stage; `found` is what was measured, `expected` what must hold.

    A check that is not `blocking` warns: what it finds may lie in the nature of a repository, and stops nothing.
    """

    name: str
    passed: bool
    expected: str
    found: str
    blocking: bool = True
