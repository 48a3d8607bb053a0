"""The names in a text that may be those of classes, found by words."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

_KEY = r"\b(?:class|struct|union|enum)"
_USE = re.compile(
    rf"(?P<other>\btypename\s++|\btypedef\s++{_KEY}\s++)?(?P<key>{_KEY}\s++)?\b(?!{_KEY}\b)(?P<name>[A-Za-z_]\w*+)"
    r"(?!\s*+(?:<[^<>;]*+>\s*+)?(?:const\s*+)?[*&])(?:(?=(?P<value>\s++(?!final\b)[A-Za-z_]|\s*+\))))?"
    r"(?(other)(?:\s++(?P=name)\b)?)"
)
"""A name that is no pointer or reference, which a class may be while it is incomplete. `value` is what follows `struct
NAME` that declares no class: the name of a variable or field, or the end of `sizeof`. Of `typedef struct X X` it is one
match."""
_CAUGHT = re.compile(r"\bcatch\s*+\(\s*+(?:const\s++)?(?>(?:[A-Za-z_]\w*+\s*+::\s*+)*)([A-Za-z_]\w*+)")
"""The class of a handler, which must be complete even if it is a reference."""
_POINTED = re.compile(r"\b([A-Za-z_]\w*+)\s*+\*\s*+(?:const\s++)?([A-Za-z_]\w*+)")
_INDEXED = re.compile(r"(?:\bsizeof\s*+\(?\s*+\*\s*+([A-Za-z_]\w*+)|\b([A-Za-z_]\w*+)\s*+\[)")
"""What a pointer points to must be complete where it has an index, and in `sizeof *pointer`."""
_FILLED = re.compile(
    r"\b([A-Za-z_]\w*+)\s++[A-Za-z_]\w*+\s*+(?>(?:\[[^\[\]]*+\]\s*+)*)(?:=\s*+)?\{(?!\s*+(?:\.|(?:0\s*+)?\}))"
)
"""A class whose fields may be given in braces, in order."""
_QUALIFIED = re.compile(
    r"\b([A-Za-z_]\w*+)(?=\s*+(?:<[^<>;{}]*+(?:<[^<>;{}]*+>[^<>;{}]*+)?>\s*+)?::\s*+([A-Za-z_]\w*+))"
)
"""A class, perhaps with template arguments, and what is named inside of it."""

_TEMPLATE = re.compile(
    r"(?:\btypedef\b|=)\s*+(?>(?:(?:typename|const|class|struct)\s++)*)(?:::\s*+)?(?>(?:[A-Za-z_]\w*+\s*+::\s*+)*)"
    r"([A-Za-z_]\w*+)\s*+<"
)
"""The class template of which a typedef or an alias names an instance."""


def completed_in(text: str) -> tuple[AbstractSet[str], AbstractSet[str]]:
    """Return the names in `text` whose classes must be complete there: those alone, and those after `struct`."""
    uses = _USE.findall(text)
    plain = {name for other, key, name, _ in uses if not other and not key}
    tagged = {name for other, key, name, value in uses if not other and key and value}
    plain.update(_CAUGHT.findall(text))
    if "[" in text or "sizeof" in text:
        indexed = {name for each in _INDEXED.findall(text) for name in each}
        plain.update(name for name, pointer in _POINTED.findall(text) if pointer in indexed)
    return plain, tagged


def filled_in(text: str) -> AbstractSet[str]:
    """Return the names in `text` of what may be classes whose fields are given in braces, as `Point p = {1, 2}`."""
    return set(_FILLED.findall(text)) if "{" in text else set()


def qualifiers_in(text: str) -> AbstractSet[str]:
    """Return the names in `text` that something inside of them is named by, as `Class::Type`."""
    return {holder for holder, _ in qualified_in(text)}


def qualified_in(text: str) -> AbstractSet[tuple[str, str]]:
    """Return the pairs of names in `text` that are written as `Class::Type` or `Class<Arguments>::Type`."""
    return set(_QUALIFIED.findall(text)) if "::" in text else set()


def template_in(text: str) -> str:
    """Return the class template of which the typedef or alias `text` names an instance; "" for other types."""
    found = _TEMPLATE.search(text)
    return found[1] if found else ""
