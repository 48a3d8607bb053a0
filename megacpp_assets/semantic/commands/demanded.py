"""Finds macros without which a source refuses to compile: `#ifndef X` with `#error` at its beginning."""

from __future__ import annotations

import re

from megacpp_assets.semantic.tree.includes import directives

_ERROR = re.compile(rb"#[ \t]*error\b")
_ABSENT = {
    b"ifndef": re.compile(rb"([A-Za-z]\w*)"),
    b"if": re.compile(rb"![ \t]*defined[ \t]*\(?[ \t]*([A-Za-z]\w*)[ \t]*\)?"),
}
"""Only the compiler defines names that start with an underscore."""
_NEVER = re.compile(rb"(?!)")


def demanded_macros(text: bytes) -> tuple[str, ...]:
    """Return the macros that the build must define for the source with this `text`, in its order."""
    if not _ERROR.search(text):
        return ()
    lines = [line for line in directives(text) if line[0] != b"pragma"]
    demanded = []
    for condition, error, end in zip(lines[::3], lines[1::3], lines[2::3], strict=False):
        absent = _ABSENT.get(condition[0], _NEVER).fullmatch(condition[1])
        if not absent or (error[0], end[0]) != (b"error", b"endif"):
            break
        demanded.append(absent[1].decode())
    return tuple(demanded)
