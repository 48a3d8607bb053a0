"""The statements of a short text, by which declarations that say the same are found."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_LINE = re.compile(r"^[ \t]*#[ \t]*line\b[^\n]*", re.M)
"""A directive by which a generator names its input. The same text in two generated files has other numbers."""
_FORWARD = re.compile(
    r"(?:(template\s*<[^;{}]*>)\s*)?(?:class|struct|union)\s+(?:[A-Z_]\w*(?:\s*\([^()]*\))?\s+)*(\w+)", re.S
)
"""A class that is declared, perhaps with macros for attributes before its name."""


def statements_of(text: str) -> list[tuple[str, ...]]:
    """Return the statements of `text`: a name for each class that it only declares, words for all else. A text with
    braces is compared by its words.
    """
    code = _LINE.sub(" ", _COMMENT.sub(" ", text))
    *parts, last = code.split(";")
    found = [_FORWARD.fullmatch(part.strip()) for part in parts]
    if "{" in text or last.strip() or not any(found):
        return [tuple(code.split())]
    said = [("class", each[2], each[1] if "=" in (each[1] or "") else "") for each in found if each]
    other = [part for part, each in zip(parts, found, strict=True) if not each]
    return [*said, *([tuple("; ".join(other).split())] if other else [])]
