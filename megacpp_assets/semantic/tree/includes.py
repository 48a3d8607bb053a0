"""Finds the includes of texts from their directives alone: no macro is expanded, no condition is evaluated."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from itertools import takewhile

_INCLUDE = re.compile(rb"\n[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*([<\"])([^>\"\r\n]{1,255})[>\"]")
"""Of a text with a line feed in front: `re` finds the next one of those four times as fast as the next `^`."""
_ODD_PARTS = frozenset({"", ".", ".."})
_COMMENT = re.compile(rb"/\*(?:.*?\*/|.*)|//[^\n]*", re.S)
"""One that nothing closes reaches to the end: looked for anew from each opening, it would cost the square of a text."""
_QUOTED_OR_COMMENT = re.compile(rb"""("(?:\\.|[^"\\\n])*")|/\*(?:.*?\*/|.*)|//[^\n]*""", re.S)
_OPENING = re.compile(rb"(?:[ \t\n]+|/\*.*?\*/|//[^\n]*)*", re.S)
"""Comments and blanks, of which a text has many at its start and nowhere else: the license."""
_CODE = re.compile(rb"\n(?![ \t]*#)[ \t\f\v]*\S")
_LINE_END = re.compile(rb"\r\n?")
_SPLICE = re.compile(rb"\\\n")
_DIRECTIVE = re.compile(rb"\n[ \t]*#[ \t]*([a-z_]+)[ \t]*([^\r\n]*)")
"""Of a text with a line feed in front: `re` finds the next one of those four times as fast as the next `^`."""
_TARGET = re.compile(r"""([<"])([^<>"\\]+)[>"]""")
_CONFIGURABLE = re.compile(rb"[A-Za-z]\w*")
_SWITCH = re.compile(rb"[ \t]*(?:defined\b[ \t]*\(?[ \t]*)?([A-Za-z]\w*)[ \t]*\)?[ \t]*")
"""A test whether one macro is on. Only the compiler and the system define names that start with an underscore."""


def include_spellings(source: bytes) -> list[tuple[bool, str]]:
    """Return (quoted, spelling) of each literal include of `source`, in order. Spellings that are not plain are left
    out.
    """
    return [
        (mark == b'"', spelling)
        for mark, raw in _INCLUDE.findall(b"\n" + source.removeprefix(BOM_UTF8))
        if (spelling := _plain(raw)) is not None
    ]


def directives(text: bytes) -> list[tuple[bytes, bytes]]:
    """Return the name and the rest of each directive."""
    return [(name, rest.strip()) for name, rest in _DIRECTIVE.findall(b"\n" + _COMMENT.sub(b" ", text))]


def is_guarded(lines: Sequence[tuple[bytes, bytes]]) -> bool:
    """Return whether a second inclusion of a file with these directives gives nothing."""
    return (b"pragma", b"once") in lines or guard_of(lines) != b""


def guard_of(lines: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return the macro by which a file with these directives knows its first inclusion, or b""."""
    first = len(list(takewhile(lambda line: line[0] == b"pragma", lines)))
    words, rests = [[line[part] for line in lines[first : first + 2]] for part in (0, 1)]
    names = {b"".join(rest.split()[:1]) for rest in rests}
    return names.pop() if words == [b"ifndef", b"define"] and len(names) == 1 else b""


def sure_includes(lines: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[bool, str]]:
    """Yield (quoted, spelling) of includes that are under no condition except `#ifndef` of a macro that is not the
    compiler's or the system's.
    """
    return (target for target, macros in switched_includes(lines) if not macros)


def switched_includes(lines: Sequence[tuple[bytes, bytes]]) -> Iterator[tuple[tuple[bool, str], tuple[str, ...]]]:
    """Yield (quoted, spelling) of includes with the macros that must be on for them, as `X` in `#if defined(X)`.

    Includes under another condition are left out, but for `#ifndef` of a macro that is not the compiler's or the
    system's.
    """
    conditions: list[tuple[str, ...] | None] = []
    for name, rest in lines:
        if name in {b"if", b"ifdef", b"ifndef"}:
            conditions.append(_switches(name, rest))
        elif name in {b"else", b"elif", b"elifdef", b"elifndef"} and conditions:
            conditions[-1] = _switches(name, rest) or None
        elif name == b"endif" and conditions:
            conditions.pop()
        elif name == b"include" and None not in conditions and (target := include_of(rest)):
            yield target, tuple(macro for each in conditions if each for macro in each)


def _switches(name: bytes, rest: bytes) -> tuple[str, ...] | None:
    """Return the macros that must be on for the condition of a directive; None if it asks for anything else."""
    if name == b"ifndef" and _CONFIGURABLE.fullmatch(rest):
        return ()
    tests = rest.split(b"&&") if name in {b"if", b"ifdef", b"elif", b"elifdef"} else [b""]
    found = [_SWITCH.fullmatch(test) for test in tests]
    macros = tuple(macro[1].decode() for macro in found if macro)
    return macros if len(macros) == len(tests) else None


def include_of(rest: bytes) -> tuple[bool, str] | None:
    """Return (quoted, spelling) of the include named by `rest`; None for a macro or for text that cannot be printed."""
    target = _TARGET.match(rest.decode("utf-8", "replace"))
    return (target[1] == '"', target[2]) if target and target[2].isprintable() else None


def is_hollow(text: bytes) -> bool:
    """Return whether a text is directives, comments and blanks, and no code of its own."""
    lines = _SPLICE.sub(b"", _LINE_END.sub(b"\n", text) if b"\r" in text else text)
    rest = _OPENING.sub(b"", lines, count=1)
    return not any(_CODE.search(b"\n" + whole) for whole in _without_comments(rest))


def _without_comments(lines: bytes) -> Iterator[bytes]:
    """Yield whole lines of a text in which comments are blanks, a few at a time: most texts show code in the first
    lines.
    """
    at = 0
    line: list[bytes] = []
    for match in _QUOTED_OR_COMMENT.finditer(lines):
        whole, end, rest = lines[at : match.start()].rpartition(b"\n")
        if end:
            yield b"".join((*line, whole))
            line.clear()
        line += (rest, match[1] or b" ")
        at = match.end()
    yield b"".join((*line, lines[at:]))


def _plain(raw: bytes) -> str | None:
    try:
        spelling = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return spelling if "\0" not in spelling and _ODD_PARTS.isdisjoint(spelling.split("/")) else None
