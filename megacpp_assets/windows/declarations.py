"""Cuts the text of a file into its outermost declarations by braces. No parser is needed, and only the text decides.

Consecutive versions of a file share most of their declarations, so each one is parsed once over all of history.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_MARK: Final = re.compile(
    rb"""//(?:\\\r?\n|[^\n])*|/\*.*?\*/|R"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)"|"(?:\\.|[^"\\\n])*"
    |'(?:\\[^\n][^'\n]{0,8}|[^'\\\n]{1,4})'|\#(?:\\\r?\n|/\*.*?\*/|[^\n])*|;|\{|\}""",
    re.DOTALL | re.VERBOSE,
)
"""Comments, literals and directives, whose marks do not count, and the marks between declarations.

Each alternative begins with a literal, so that Python's search skips other characters fast.
"""
_BRACE: Final = re.compile(_MARK.pattern.replace(rb"|;|", rb"|\{[^{}\"'/\#]*\}|"), re.DOTALL | re.VERBOSE)
"""The same inside of a declaration, without semicolons. Braces around text without other marks are one match."""
_SCOPE: Final = re.compile(
    rb"""\bnamespace(?:\s*\[\[[^\]]*\]\])?(?:\s+(?P<name>\w+(?:\s*::\s*(?:inline\s+)?\w+)*))?(?:\s+\w+\([^()]*\))?\s*\Z
    |\bextern\s*"C(?:\+\+)?"\s*\Z""",
    re.VERBOSE,
)
"""The end of the text before the brace of a scope whose members are declarations of their own."""
_BLANK: Final = re.compile(rb"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_BEGINS: Final = re.compile(rb"(?!catch\b)\w|[}\#~]|\[\[|\Z")
"""What follows the last brace of a declaration. Before anything else the declaration continues: `a{1}, b{2} {`."""
_LONGEST_HEAD: Final = 1000


class Declaration(NamedTuple):
    """The bytes [start, end) of a file, and the names of the namespaces around them."""

    start: int
    end: int
    scope: tuple[str, ...]


def declarations(code: bytes) -> Sequence[Declaration]:
    """Return the outermost declarations with braces, in order; the whole file if its braces are not balanced."""
    whole = [Declaration(0, len(code), ())]
    found: list[Declaration] = []
    scopes: list[tuple[str, ...]] = []
    start = head = place = 0
    while (mark := _MARK.search(code, place)) is not None:
        place = mark.end()
        kind = mark[0]
        if kind == b"{":
            scope = _SCOPE.search(code, max(head, mark.start() - _LONGEST_HEAD), mark.start())
            if scope is not None:
                scopes.append(_names(scope))
                start = head = place
                continue
            end = _end(code, place)
            if end < 0:
                return whole
            found.append(Declaration(start, end, tuple(name for names in scopes for name in names)))
            start = head = place = end
        elif kind == b"}":
            if not scopes:
                return whole
            scopes.pop()
            start = head = place
        elif kind == b";":
            start = head = place
        elif not code[head : mark.start()].strip():  # a comment above a declaration may be `// namespace detail`
            head = place
    return whole if scopes else found


def _names(scope: re.Match[bytes]) -> tuple[str, ...]:
    parts = (scope["name"] or b"").decode(errors="replace").split("::")
    names = (part.strip().removeprefix("inline").strip() for part in parts)
    return tuple(name for name in names if name)


def _end(code: bytes, place: int) -> int:
    """Return the end of a declaration whose first brace ends at `place`; -1 if its braces are not balanced."""
    depth = 1
    while (mark := (_BRACE if depth else _MARK).search(code, place)) is not None:
        place = mark.end()
        kind = mark[0]
        if kind == b"{":
            depth += 1
        elif kind == b"}":
            depth -= 1
            if depth < 0:
                return -1
        elif kind == b";":
            return place
        if depth == 0 and kind == b"}" and _BEGINS.match(code, _BLANK.match(code, place).end()):  # type: ignore[union-attr]
            return place
    return place if depth == 0 else -1
