"""The price of context. It is one for the whole repository, so that context is shown where it explains most.

The worth of a piece of context is the number of uses that it explains for each of its characters. First, all documents
count what they would show, by worth. The lowest worth at which the replication is kept is then the price for all.
"""

from __future__ import annotations

import math
from collections import Counter

NEEDED = math.inf
"""The worth of items without which roots are wrong."""
_GAIN, _FASTEST, _STEEPEST = 1024, 8, 192
"""The steps by which the price is raised for an excess of 100 %, the most for one document, and the most for all."""
_STEPS = 32
"""The number of steps of worth for each factor of two."""


class Prices:
    """The worth below which no context is shown, and the shown characters by worth. Its size is bounded."""

    def __init__(self) -> None:
        self._least, self._spare = -math.inf, 0
        self._fixed, self._extra = -math.inf, 0
        self._taken: Counter[float] = Counter()
        self._wanted: Counter[float] = Counter()

    def is_affordable(self, worth: float, chars: int) -> bool:
        """Return whether context of that worth and length is shown. At the price itself, only while room is left."""
        step = _step(worth)
        return step > self._least or step == NEEDED or (step == self._least and chars <= self._spare)

    def take(self, worth: float, chars: int) -> None:
        """Count shown context."""
        step = _step(worth)
        self._taken[step] += chars
        if step == self._least:
            self._spare -= chars

    def take_again(self, chars: int) -> None:
        """Count context that was found by an earlier search while there was no price."""
        self._taken[NEEDED] += chars

    def fix(self, chars: int) -> None:
        """Set the price so that at most `chars` of the context counted before the first price would be shown.

        Counting starts again from zero.
        """
        self._wanted = self._wanted or self._taken
        self._taken = Counter()
        self._least, self._spare = -math.inf, 0
        for step in sorted(self._wanted, reverse=True):
            if self._wanted[step] > chars:
                self._least, self._spare = step, max(0, chars)
                break
            chars -= self._wanted[step]
        self._fixed, self._extra = self._least, 0

    def steer(self, spent: int, allowed: int) -> None:
        """Raise or lower the price for the next documents by how far those before are above what was `allowed`.

        `spent` and `allowed` are the characters of the documents so far. A document at a price may show more than was
        counted for it, because what it needs is shown at any price, and because what is too dear for one is found
        elsewhere. The price depends on the excess, not on how long it lasts. It never falls below the one that was
        set.
        """
        if math.isfinite(self._fixed) and allowed > 0:
            wanted = max(0, min(_STEEPEST, math.ceil(_GAIN * (spent / allowed - 1))))
            self._extra += max(-_FASTEST, min(_FASTEST, wanted - self._extra))
            self._least = self._fixed + self._extra

    @property
    def is_free(self) -> bool:
        """Whether context has no price, so that every search finds what the first one found."""
        return self._least == -math.inf

    @property
    def spent(self) -> int:
        """The characters that were shown since the price was set."""
        return self._taken.total()

    @property
    def least(self) -> float:
        """The lowest worth at which context is shown."""
        return 2.0 ** (self._least / _STEPS) if math.isfinite(self._least) else max(0.0, self._least)


def _step(worth: float) -> float:
    return math.floor(math.log2(worth) * _STEPS) if 0 < worth < math.inf else (math.inf if worth > 0 else -math.inf)
