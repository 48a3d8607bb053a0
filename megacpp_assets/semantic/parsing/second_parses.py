"""Which units of a tree are parsed a second time, without the header that they share: few, whatever is wrong with it.

A header's audit is the price of sharing it. What else is parsed twice stays below a twentieth of the units with that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from megacpp_assets.semantic.parsing.worker import UnitResult

_UNITS_PER_SECOND = 20
_FEW = 4
"""Beside its audits, as many are parsed twice in a small tree: a header may hurt one file in a tree of fifty. Where
files miss what they include, errors are hardly a header's: each of them takes one of the few."""


class SecondParses:
    """How many of a tree's `units` may be parsed twice, beside one for each of its `headers`."""

    def __init__(self, units: int, headers: int) -> None:
        self._share = units // _UNITS_PER_SECOND - headers
        self._taken = 0

    def take(self, count: int, seen: Iterable[UnitResult]) -> int:
        """So many of `count` as are left after what was `seen` of the tree; they are spent."""
        lacking = sum(result.missing > 0 for result in seen)
        left = max(self._share, _FEW - lacking) - self._taken
        taken = max(0, min(count, left))
        self._taken += taken
        return taken

    def choose(self, results: Sequence[UnitResult]) -> list[UnitResult]:
        """Those of `results` to be parsed again: what the header may have done to them is likeliest where errors are
        few. Equal in every run, whoever is done first."""
        odd = sorted(filter(_is_odd, results), key=lambda result: (result.file.errors, hash_of(result.file.path)))
        return odd[: self.take(len(odd), results)]


def _is_odd(result: UnitResult) -> bool:
    """Whether the shared header may have made its errors: a file that is not there is missing without it too."""
    return result.shares and result.file.errors > 0 and not result.missing


def hash_of(path: str) -> bytes:
    """What orders paths at random, and equally in every run."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).digest()
