"""Which units of a tree are parsed a second time, without the header that they share: one in twenty, whatever is wrong.

A header's audit is the price of sharing it, and counts: where there are more headers, those of the fewest units go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from megacpp_assets.semantic.parsing.precompiled import SharedHeader
from megacpp_assets.semantic.parsing.worker import UnitResult

_UNITS_PER_SECOND = 20


def bound(units: int) -> int:
    """How many of a tree's `units` may be parsed twice: in the smallest tree one, or no header could be shared."""
    return max(1, units // _UNITS_PER_SECOND)


def affordable(headers: Sequence[SharedHeader], units: int) -> list[SharedHeader]:
    """Those of `headers` that may be audited in a tree of so many `units`, in their order: of the most units first."""
    largest = sorted(range(len(headers)), key=lambda place: (-len(headers[place].units), place))
    return [headers[place] for place in sorted(largest[: bound(units)])]


class SecondParses:
    """What is left of the second parses of a tree of so many `units`, after the audit of each of its `headers`."""

    def __init__(self, units: int, headers: int) -> None:
        self._left = max(0, bound(units) - headers)

    def take(self, count: int) -> int:
        """So many of `count` as are left; they are spent."""
        taken = min(count, self._left)
        self._left -= taken
        return taken

    def choose(self, results: Sequence[UnitResult]) -> list[UnitResult]:
        """Those of `results` to be parsed again: what the header may have done to them is likeliest where errors are
        few. Equal in every run, whoever is done first."""
        odd = sorted(filter(_is_odd, results), key=lambda result: (result.file.errors, hash_of(result.file.path)))
        return odd[: self.take(len(odd))]


def _is_odd(result: UnitResult) -> bool:
    """Whether the shared header may have made its errors: a file that is not there is missing without it too."""
    return result.shares and result.file.errors > 0 and not result.missing


def hash_of(path: str) -> bytes:
    """What orders paths at random, and equally in every run."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).digest()
