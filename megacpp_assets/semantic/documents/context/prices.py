"""The price of context. It is one for the whole repository, so that context is shown where it explains most.

The worth of a piece of context is the number of uses that it explains for each of its characters. First, all documents
count what they would show, by worth. The lowest worth at which the replication is kept is then the price for all. Each
lot of documents gets a part of the prices, so that lots can be composed at the same time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from megacpp_assets.semantic.documents.context._search import Price

NEEDED = math.inf
"""The worth of items without which roots are wrong."""
_GAIN, _FASTEST, _STEEPEST = 2048, 8, 192
"""The steps by which the price is raised for an excess of 100 % of all allowed characters, the most for one document,
and the most for all."""
_AIM, _SLACK = 0.99, 1 / 16
"""The price rises from the first share of the expected characters on, because it lags behind the documents, and the
second share of what is expected of the documents that are left: these may balance the excess."""
_STEPS = 32
"""The number of steps of worth for each factor of two."""


class Prices:
    """The worth below which no context is shown, and the shown characters by worth. Its size is bounded."""

    def __init__(self) -> None:
        self._least, self._spare = -math.inf, 0
        self._fixed, self._extra, self._total = -math.inf, 0, 0
        self._share = 0.0
        """The share of the context at the price itself that is shown."""
        self.taken: Counter[float] = Counter()
        """The characters that were shown since the price was set, by worth."""

    @property
    def price(self) -> Price:
        """The price of the next context. What is taken at it has to be counted by `take`."""
        return Price(self._least, self._spare)

    def take(self, shown: Mapping[float, int]) -> None:
        """Count the characters of context that were shown, by step of worth."""
        self.taken.update(shown)
        self._spare -= shown.get(self._least, 0)

    def complete(self, shown: Mapping[float, int], worth: Callable[[int], float]) -> None:
        """Count the context of a complete document, which was `shown` without a price, as it is shown at a price.

        The lower the price, the fewer characters of context are left that are too dear by themselves. All of them are
        shown together once their `worth`, that of completing a document with so many characters, is enough.
        """
        steps, chars, count = sorted(step for step in shown if shown[step]), 0, 0
        while count < len(steps) and _step(worth(chars + shown[steps[count]])) >= steps[count]:
            chars += shown[steps[count]]
            count += 1
        self.take({step: shown[step] for step in steps[count:]})
        if chars:
            above = steps[count] if count < len(steps) else math.inf
            self.take({min(_step(worth(chars)), above): chars})

    def take_again(self, chars: int) -> None:
        """Count context that was found by an earlier search while there was no price."""
        self.taken[NEEDED] += chars

    @classmethod
    def at(cls, wanted: Counter[float], chars: int, share: float = 1.0, total: int = 0) -> Prices:
        """Return prices at which all documents show at most `chars` of context.

        `wanted` is the context that documents would show without a price, by worth, counted in that `share` of them.
        `total` are the characters that all documents may have, with their roots.
        """
        prices = cls()
        prices._total = total
        left = chars * share
        for step in sorted(wanted, reverse=True):
            if wanted[step] > left:
                prices._least, prices._spare = step, max(0, int(left / share))
                prices._share = max(0.0, left / wanted[step])
                break
            left -= wanted[step]
        prices._fixed = prices._least
        return prices

    def shown(self, wanted: Mapping[float, int]) -> float:
        """Return the characters of context that documents show at the price that was set, of those `wanted`."""
        above = sum(chars for step, chars in wanted.items() if step > self._fixed or step == NEEDED)
        return above + self._share * wanted.get(self._fixed, 0)

    def part(self, share: float, spent: int, expected: int) -> Prices:
        """Return the prices for a part of the documents, which has that share of what is left at the price itself.

        `spent` and `expected` are the characters of the documents before, as in `steer`.
        """
        part = Prices()
        part._fixed, part._spare, part._total = self._fixed, int(self._spare * share), self._total
        part._extra = part._steps_above(spent, expected)
        part._least = part._fixed + part._extra
        return part

    def highest(self) -> Prices:
        """Return the highest prices that `steer` may reach from these, without an end if context is free."""
        highest = Prices()
        highest._fixed = highest._least = self._fixed + _STEEPEST if math.isfinite(self._fixed) else math.inf
        return highest

    def steer(self, spent: int, expected: int) -> None:
        """Raise or lower the price for the next documents by how far those before are above what was `expected`.

        `spent` and `expected` are the characters of the documents so far. A document at a price may show more than was
        counted for it, because what is too dear for one is found elsewhere. The price depends on the excess, as a part
        of all that documents may have, and not on how long it lasts. A few documents that come first and need much do
        not raise it. It never falls below the one that was set.
        """
        wanted = self._steps_above(spent, expected)
        self._extra += max(-_FASTEST, min(_FASTEST, wanted - self._extra))
        self._least = self._fixed + self._extra

    def _steps_above(self, spent: int, expected: int) -> int:
        """Return by how many steps the price should be above the one that was set."""
        if not math.isfinite(self._fixed) or self._total <= 0:
            return 0
        excess = spent - _AIM * expected - _SLACK * (self._total - expected)
        return max(0, min(_STEEPEST, math.ceil(_GAIN * excess / self._total)))

    @property
    def is_free(self) -> bool:
        """Whether context has no price, so that every search finds what the first one found."""
        return self._least == -math.inf

    @property
    def spent(self) -> int:
        """The characters that were shown since the price was set."""
        return self.taken.total()

    @property
    def least(self) -> float:
        """The lowest worth at which context is shown."""
        return 2.0 ** (self._least / _STEPS) if math.isfinite(self._least) else max(0.0, self._least)


class Demand(NamedTuple):
    """The characters of context that the documents of each searched group would show without a price, by worth and by
    the first root of the group. These groups have that `share` of all roots. There is `room` for so much context, and
    the documents may have `total` characters in all."""

    by_group: Mapping[int, Counter[float]]
    room: int
    share: float
    total: int

    def prices(self, excess: int = 0) -> Prices:
        """Return the prices at which all documents show what there is room for, less `excess` characters."""
        wanted: Counter[float] = Counter()
        for counted in self.by_group.values():
            wanted.update(counted)
        return Prices.at(wanted, self.room - excess, self.share, self.total)

    def expected(self, own: Mapping[int, int], prices: Prices) -> dict[int, int]:
        """Return the characters that are expected of the documents of each group at `prices`, `total` in all.

        `own` are the characters of the roots of each group, by its first root. What was not searched is like the mean
        of what was.
        """
        found = {first: own[first] + prices.shown(wanted) for first, wanted in self.by_group.items()}
        # `sum` adds floats more precisely from Python 3.12 on, so that documents would not be the same.
        mean = math.fsum(found.values()) / max(1, sum(own[first] for first in found))
        counted = {first: found.get(first, mean * chars) for first, chars in own.items()}
        scale = self.total / max(1.0, math.fsum(counted.values()))
        return {first: int(chars * scale) for first, chars in counted.items()}


def _step(worth: float) -> float:
    return math.floor(math.log2(worth) * _STEPS) if 0 < worth < math.inf else (math.inf if worth > 0 else -math.inf)
