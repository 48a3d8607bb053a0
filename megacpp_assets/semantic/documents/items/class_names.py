"""The names in a text that may be those of classes, found by words."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

_KEY = r"\b(?:class|struct|union|enum)"
_USE = re.compile(
    rf"(?P<other>\btypename\s++|\btypedef\s++{_KEY}\s++)?(?P<key>{_KEY}\s++)?\b(?!{_KEY}\b)(?P<name>[A-Za-z_]\w*+)"
    r"(?!\s*+(?:<[^<>;]*+>\s*+)?(?:const\s*+)?[*&])(?P<value>(?=\s++(?!final\b)[A-Za-z_]|\s*+\)))?"
    r"(?(other)(?:\s++(?P=name)\b)?)"
)
"""A name that is no pointer or reference, which a class may be while it is incomplete. `value` is what follows `struct
NAME` that declares no class: the name of a variable or field, or the end of `sizeof`. Of `typedef struct X X` it is one
match."""
_QUALIFIER = re.compile(r"\b[A-Za-z_]\w*+(?=\s*::\s*[A-Za-z_])")


def completed_in(text: str) -> tuple[AbstractSet[str], AbstractSet[str]]:
    """Return the names in `text` whose classes must be complete there: those alone, and those after `struct`."""
    plain, tagged = set[str](), set[str]()
    for use in _USE.finditer(text):
        if use["other"] is None and (use["key"] is None or use["value"] is not None):
            (plain if use["key"] is None else tagged).add(use["name"])
    return plain, tagged


def qualifiers_in(text: str) -> AbstractSet[str]:
    """Return the names in `text` that something inside of them is named by, as `Class::Type`."""
    return set(_QUALIFIER.findall(text))
