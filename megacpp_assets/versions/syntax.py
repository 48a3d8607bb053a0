"""Blanks out text that tree-sitter cannot parse because it does not run the preprocessor. No byte moves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_MACRO: Final = re.compile(
    rb"^[ \t]*[A-Z][A-Z0-9_]{3,}[ \t]*(?=\r?$)|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b(?=[ \t]+[A-Za-z_])", re.MULTILINE
)
"""A macro alone on its line (`FMT_BEGIN_NAMESPACE`), or before a declaration (`FMT_API void f()`)."""
_CONDITIONAL: Final = re.compile(rb"#[ \t]*(if|ifdef|ifndef|else|elif|elifdef|elifndef|endif)\b(?:\\\r?\n|[^\n])*")
_OPENING: Final = (b"if", b"ifdef", b"ifndef")
_NOT_A_LINE_END: Final = re.compile(rb"[^\n]")


def without_macros(code: bytes) -> bytes:
    """Return `code` with blanks for macros that hide the kind of a declaration.

    tree-sitter parses `FMT_BEGIN_NAMESPACE namespace detail {` and `class LIB_API Box {` as functions.
    """

    def blanks(found: re.Match[bytes]) -> bytes:
        begin = code.rfind(b"\n", 0, found.start()) + 1
        directive = code[begin : found.start()].lstrip()[:1] == b"#"
        return found[0] if directive else b" " * len(found[0])

    return _MACRO.sub(blanks, code)


def without_torn_arms(code: bytes) -> bytes:
    """Return `code` with only the first arm of each conditional whose first arm has unbalanced braces.

    `if (a) {` in one arm and `if (b) {` in the other one open two blocks for tree-sitter, of which one is never closed.
    `extern "C" {` in a conditional of its own has the same problem.
    """
    groups: list[list[tuple[int, int]]] = []
    blanks: list[tuple[int, int]] = []
    for found in _conditionals(code):
        if found[1] in _OPENING:
            groups.append([found.span()])
        elif groups:
            groups[-1].append(found.span())
        if found[1] == b"endif" and groups:
            opening, following, *_ = group = groups.pop()
            arm = opening[1], following[0]
            if code.count(b"{", *arm) != code.count(b"}", *arm):
                blanks += [opening, (following[0], group[-1][1])]
    return _blanked(code, blanks)


def without_open_conditionals(code: bytes) -> bytes:
    """Return `code` with blanks for conditional directives whose other ones are not in `code`."""
    groups: list[list[tuple[int, int]]] = []
    blanks: list[tuple[int, int]] = []
    for found in _conditionals(code):
        if found[1] in _OPENING:
            groups.append([found.span()])
        elif not groups:
            blanks.append(found.span())
        elif found[1] == b"endif":
            groups.pop()
        else:
            groups[-1].append(found.span())
    return _blanked(code, blanks + [span for group in groups for span in group])


def _conditionals(code: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the conditional directives, with their continued lines. They are the first on their line."""
    for found in _CONDITIONAL.finditer(code):
        if not code[code.rfind(b"\n", 0, found.start()) + 1 : found.start()].strip():
            yield found


def _blanked(code: bytes, spans: list[tuple[int, int]]) -> bytes:
    """Return `code` with blanks in `spans`, which may be nested. Line ends stay."""
    data = bytearray(code)
    for start, end in spans:
        data[start:end] = _NOT_A_LINE_END.sub(b" ", code[start:end])
    return bytes(data)
