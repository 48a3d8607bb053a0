"""The numbers that a key of a recipe may hold. The text of a range is shown in docs/recipes.md and in errors.

A range never holds NaN or an infinity, so a value of a recipe can always be written as JSON.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_GROUPED = 10_000
"""Whole numbers from here on are written with digits in groups of three, as TOML allows it."""
_WHOLE_BITS = 63


@dataclass(frozen=True, slots=True)
class Range:
    """Finite numbers from `least` to `most`.

    Attributes:
        open: Whether `least` itself is not in the range.
        zero: Whether 0 is in the range too, although it is below `least`.
        whole: Whether only whole numbers are meant, although there is no bound.
        also: What else must hold. The section checks it; the range only names it.
    """

    least: float = -math.inf
    most: float = math.inf
    open: bool = False
    zero: bool = False
    whole: bool = False
    also: str = ""

    @property
    def text(self) -> str:
        """The range in words."""
        return f"{self._bounds}; {self.also}" if self.also else self._bounds

    @property
    def _bounds(self) -> str:
        least, most = number_text(self.least), number_text(self.most)
        if math.isinf(self.least):
            return "any whole number" if self.whole else "any finite number"
        if self.open:
            return f"above {least}" if math.isinf(self.most) else f"above {least}, at most {most}"
        bounds = f"at least {least}" if math.isinf(self.most) else f"{least} to {most}"
        return f"0, or {bounds}" if self.zero else bounds

    def problem(self, value: object, *, whole: bool) -> str:
        """Return what was expected in place of `value`, or "" if the range holds it. `whole` allows only integers."""
        if whole and type(value) is not int:
            return f"a whole number: {self.text}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"a number: {self.text}"
        if isinstance(value, int) and value.bit_length() > _WHOLE_BITS:
            return "a number of at most 64 bits"
        if not math.isfinite(value):
            return f"a finite number: {self.text}"
        inside = (value > self.least if self.open else value >= self.least) and value <= self.most
        return "" if inside or (self.zero and value == 0) else self.text


ANY_NUMBER = Range()
ANY_WHOLE = Range(whole=True)


def at_least(least: float, *, also: str = "") -> Range:
    """Return the numbers from `least` on."""
    return Range(least, also=also)


def above(least: float, most: float = math.inf) -> Range:
    """Return the numbers above `least`, up to `most`."""
    return Range(least, most, open=True)


def between(least: float, most: float, *, also: str = "") -> Range:
    """Return the numbers from `least` to `most`."""
    return Range(least, most, also=also)


def zero_or(least: float, most: float) -> Range:
    """Return the numbers from `least` to `most`, and 0."""
    return Range(least, most, zero=True)


def number_text(value: float) -> str:
    """Return a number as a person writes it in TOML."""
    if isinstance(value, int):
        return f"{value:_}" if value >= _GROUPED else str(value)
    return f"{value:g}"
