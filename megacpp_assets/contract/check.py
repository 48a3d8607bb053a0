"""The result of one check of one artifact."""

from __future__ import annotations

from dataclasses import dataclass


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
