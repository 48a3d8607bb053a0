"""The price of context: one for the whole corpus, so that its room goes where it is worth most for its length.

A piece of context is worth the uses that it explains for each character that it takes. What all documents would take is
counted by worth first; the least worth at which the corpus keeps to its replication then decides in each of them.
"""

from __future__ import annotations

import math
from collections import Counter

NEEDED = math.inf
"""The worth of what roots are wrong without."""
_STEPS = 32
"""Steps of worth to a factor of two."""


class Prices:
    """The worth below which no context is taken, and what was taken, by worth. Its size does not grow with a corpus."""

    def __init__(self) -> None:
        self._least, self._spare = -math.inf, 0
        self._taken: Counter[float] = Counter()
        self._wanted: Counter[float] = Counter()

    def is_affordable(self, worth: float, chars: int) -> bool:
        """Whether context of that worth and length may be taken; what is at the price may while some is left."""
        step = _step(worth)
        return step > self._least or step == NEEDED or (step == self._least and chars <= self._spare)

    def take(self, worth: float, chars: int) -> None:
        """Count what is taken."""
        step = _step(worth)
        self._taken[step] += chars
        if step == self._least:
            self._spare -= chars

    def fix(self, chars: int) -> None:
        """Set the price so that of what was taken before the first price no more than `chars` would have been; count
        anew."""
        self._wanted = self._wanted or self._taken
        self._taken = Counter()
        self._least, self._spare = -math.inf, 0
        for step in sorted(self._wanted, reverse=True):
            if self._wanted[step] > chars:
                self._least, self._spare = step, max(0, chars)
                break
            chars -= self._wanted[step]

    @property
    def spent(self) -> int:
        """The characters that were taken since the price was set."""
        return self._taken.total()

    @property
    def least(self) -> float:
        """Context that is worth less is never taken."""
        return 2.0 ** (self._least / _STEPS) if math.isfinite(self._least) else max(0.0, self._least)


def _step(worth: float) -> float:
    return math.floor(math.log2(worth) * _STEPS) if 0 < worth < math.inf else (math.inf if worth > 0 else -math.inf)
