"""Limits the units of a tree that are parsed a second time without their shared header: one in twenty.

Audits of headers count too. If there are too many headers, those with the fewest units are not used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from megacpp_assets.semantic.parsing.precompiled import SharedHeader
from megacpp_assets.semantic.parsing.worker import UnitResult

_UNITS_PER_SECOND = 20


def bound(units: int) -> int:
    """Return how many of a tree's `units` may be parsed twice.

    It is at least one, because each header needs an audit.
    """
    return max(1, units // _UNITS_PER_SECOND)


def affordable(headers: Sequence[SharedHeader], units: int) -> list[SharedHeader]:
    """Return the `headers` that may be audited among `units` units: those with the most units, in their order."""
    largest = sorted(range(len(headers)), key=lambda place: (-len(headers[place].units), place))
    return [headers[place] for place in sorted(largest[: bound(units)])]


class SecondParses:
    """The second parses that are left for a tree of `units` units after the audit of each of its `headers`."""

    def __init__(self, units: int, headers: int) -> None:
        self._left = max(0, bound(units) - headers)

    def take(self, count: int) -> int:
        """Reserve up to `count` second parses; return how many were reserved."""
        taken = min(count, self._left)
        self._left -= taken
        return taken

    def choose(self, results: Sequence[UnitResult]) -> list[UnitResult]:
        """Return those of `results` to parse again. The choice does not depend on the order of `results`.

        Units with few errors come first, because the header is then the likeliest cause.
        """
        odd = sorted(filter(_is_odd, results), key=lambda result: (result.file.errors, hash_of(result.file.path)))
        return odd[: self.take(len(odd))]


def _is_odd(result: UnitResult) -> bool:
    """Return whether the shared header may have caused the errors. It does not cause a missing file."""
    return result.shares and result.file.errors > 0 and not result.missing


def hash_of(path: str) -> bytes:
    """Return a hash that orders paths randomly and equally in every run."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).digest()
