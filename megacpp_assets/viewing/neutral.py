"""Text of strangers as characters that draw themselves and do nothing else, in a terminal, a page or a picture."""

from __future__ import annotations

import unicodedata
from typing import Final

_KEPT: Final = frozenset("\n\t")
_ACTING: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Unicode categories that move a cursor, turn a line around, hide, or mean what only their sender knows."""


def neutral(text: str) -> str:
    """`text` with every character that acts written as its number, such as ⟨U+202E⟩; tabs become four spaces."""
    return "".join(map(_neutral, text)).replace("\t", "    ")


def _neutral(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _ACTING:
        return character
    return f"⟨U+{ord(character):04X}⟩"
