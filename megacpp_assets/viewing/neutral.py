"""Makes untrusted text harmless in a terminal, a page or a picture: control characters become visible numbers."""

from __future__ import annotations

import unicodedata
from typing import Final

_KEPT: Final = frozenset("\n\t")
_ACTING: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Unicode categories of characters that move a cursor, reverse a line, are invisible, or have a private meaning."""


def neutral(text: str) -> str:
    """Return `text` with each control character replaced by its number, such as ⟨U+202E⟩. Tabs become four spaces."""
    return "".join(map(_neutral, text)).replace("\t", "    ")


def _neutral(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _ACTING:
        return character
    return f"⟨U+{ord(character):04X}⟩"
