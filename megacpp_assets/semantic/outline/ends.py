"""Finds the ends of declarations. libclang leaves out the semicolon and the text between the declarator and it."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.outline.macros import next_solid
from megacpp_assets.semantic.outline.ranges import among
from megacpp_assets.semantic.parsing.parsed import Cursors

_SPACE = np.isin(np.arange(256), list(b" \t\r\n\f\v\\"))
_SEMICOLON, _COMMA, _BRACE, _HASH = b";,}#"
_OPENS = ("if", "ifdef", "ifndef")
_TURNS = ("elif", "elifdef", "elifndef", "else")
_TAIL = re.compile(rb"=\s*(?:default|delete|0)|\[\[[^\[\]]*\]\]|__attribute__\s*\(\([^;{}]{0,400}?\)\)")
_BEGINS_TAIL = np.isin(np.arange(256), list(b"=[_("))
"""First bytes of the text that may follow a declarator, apart from macros."""
_BRACKET = re.compile(rb"[()\[\]{};]")
_FARTHEST = 4000
_TAILED = k.membership(k.FUNCTIONS | {k.FIELD, k.VARIABLE})


def declaration_ends(
    code: bytes, lexed: Lexed, cursors: Cursors, chosen: NDArray[np.int64], uses: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the ends of the `chosen` cursors with the text that belongs to them.

    An end inside a macro invocation (one of `uses`) moves to its end. Attributes, macros and `= default` after a
    declarator are added, and the semicolon, or the comma of an enumerator.
    """
    data = np.frombuffer(code, dtype=np.uint8)
    solid = np.flatnonzero(~(_SPACE[data] | lexed.commented))
    ends = _out_of_macros(cursors.start[chosen].astype(np.int64), cursors.end[chosen].astype(np.int64), uses)
    if not len(solid):
        return ends
    following, mark = _following(data, solid, ends)
    takes = (mark == _SEMICOLON) | ((mark == _COMMA) & (cursors.kind[chosen] == k.ENUM_CONSTANT))
    result = np.where(takes, following + 1, ends)
    macros = dict(uses.tolist())
    closed = data[np.maximum(ends - 1, 0)] == _BRACE
    begins = _BEGINS_TAIL[mark] | among(following, uses[:, 0])
    for index in np.flatnonzero(~takes & ~closed & begins & _TAILED[cursors.kind[chosen]]).tolist():
        result[index] = _over_tail(code, int(following[index]), macros) or result[index]
    for index in np.flatnonzero((mark == _HASH) & ~closed & _TAILED[cursors.kind[chosen]]).tolist():
        result[index] = _over_arms(code, lexed, int(following[index])) or result[index]
    return result


def _following(
    data: NDArray[np.uint8], solid: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first offset of code at or after each end, and the byte there; 0 if there is no more code."""
    where = np.searchsorted(solid, ends)
    following = solid[np.minimum(where, len(solid) - 1)]
    return following, np.where(where < len(solid), data[following], 0)


def _out_of_macros(starts: NDArray[np.int64], ends: NDArray[np.int64], uses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move ends inside of a macro invocation to its end, unless the start is inside of its arguments."""
    if not len(uses):
        return ends
    index = np.maximum(np.searchsorted(uses[:, 0], ends) - 1, 0)
    torn = (uses[index, 0] < ends) & (ends < uses[index, 1]) & (starts <= uses[index, 0])
    return np.where(torn, uses[index, 1], ends)


def _over_tail(code: bytes, offset: int, macros: dict[int, int]) -> int:
    """Return the offset after the semicolon of a declaration whose declarator ends before `offset`; 0 if it has another
    form.

    Attributes, macros and `= default` may come before the semicolon, and also parameters: for templates with
    `-> decltype(…)` libclang ends the cursor at the name.
    """
    while code[offset : offset + 1] != b";":
        match = _TAIL.match(code, offset)
        end = match.end() if match else macros.get(offset, 0)
        if not end and code[offset : offset + 1] == b"(":
            return _over_parameters(code, offset)
        if not end:
            return 0
        offset = next_solid(code, end)
    return offset + 1


def _over_arms(code: bytes, lexed: Lexed, offset: int) -> int:
    """Return the offset after the semicolon behind the conditional which has a directive at `offset`; 0 if code comes
    before it.

    A value may have several arms: `int size =`, `#ifdef SIZE`, `SIZE`, `#else`, `4096`, `#endif`, `;`.
    """
    starts = lexed.directives[:, 0]
    number = int(np.searchsorted(starts, offset, "right")) - 1
    if number < 0 or lexed.names[number] not in (*_OPENS, *_TURNS, "endif"):
        return 0
    depth = 0 if lexed.names[number] in _OPENS else 1
    for place in range(number, len(lexed.names)):
        name = lexed.names[place]
        depth += (name in _OPENS) - (name == "endif")
        if not depth:
            after = next_solid(code, int(lexed.directives[place, 1]))
            return after + 1 if code[after : after + 1] == b";" else 0
    return 0


def _over_parameters(code: bytes, offset: int) -> int:
    """Return the offset after the first semicolon outside of brackets; 0 if it is missing or a brace comes first."""
    depth = 0
    for match in _BRACKET.finditer(code, offset, offset + _FARTHEST):
        mark = match[0]
        if depth == 0 and mark in b"{})]":
            return 0
        if depth == 0 and mark == b";":
            return match.end()
        depth += (mark in b"([{") - (mark in b")]}")
    return 0
