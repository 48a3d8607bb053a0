"""Finds the tokens that stand for calls whose callee's name is not in the source, and the names that are callees.

For a constructor call this is the name of the variable or member in `T v(args)` and in the initialiser `member(args)`,
the name of the type in `new T` and `T(x)`, and the brace in `{args}`. `operator+(a, b)` names its callee by a keyword
and a symbol.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.labels.symbol_names import SymbolTable
from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.ranges import among
from megacpp_assets.semantic.parsing.parsed import Cursors

_CALLEE_DEPTH = 3
"""The maximum number of expressions between a call and the name of its callee."""
_HEAD_TOKENS = 6
"""The number of identifiers in which the class of a constructor is searched: `new`, scopes, the class."""
_REFERENCE = k.membership(frozenset({k.TYPE_REF, k.TEMPLATE_REF, k.NAMESPACE_REF}))
_NAMES_OPERATOR = k.membership(frozenset({k.DECL_REF_EXPR, k.MEMBER_REF_EXPR, k.OVERLOADED_REF}))
_BRACE = ord("{")
_KEYWORD = b"operator"
_KEYWORD_HASH = int(_visitor.span_hashes(_KEYWORD, np.array([0]), np.array([len(_KEYWORD)]))[0])
_SYMBOL = re.compile(
    rb'\s*(?:\(\s*\)|\[\s*\]|""\s*\w+|(?:new|delete)\b(?:\s*\[\s*\])?|<=>|<<=|>>=|->\*?|\+\+|--|&&|\|\||<<|>>|[-+*/%^&|!=<>]=|[-+*/%^&|~!=<>,])'
)
_CONVERSION = re.compile(rb"\s+[^()]*\Z")
_SUFFIX = re.compile(rb"[0-9A-Za-z\"'][A-Za-z_]")

Ints = NDArray[np.int64]


class Named(NamedTuple):
    """Bytes [start, end) name the entity in `row` of the symbols. `calls`: they call it, else they only refer to it."""

    start: int
    end: int
    row: int
    calls: bool


def callees(cursors: Cursors, operator: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which cursors are the callee's name in a call. `operator` marks the symbols that are operators.

    A callee is the first child of its call, but the name of an operator is between its operands. libclang has no target
    for the call `(f)(x)`, so its first child counts.
    """
    found = np.zeros(len(cursors.kind), dtype=bool)
    at = np.flatnonzero(cursors.uses >= 0)
    names, uses = at, cursors.uses[at]
    for _ in range(_CALLEE_DEPTH):
        parent, first = cursors.parent[at], cursors.sibling[at] == 0
        call, target = (parent >= 0) & (cursors.kind[parent] == k.CALL), cursors.uses[parent]
        found[names[call & np.where(target < 0, first, (target == uses) & (first | operator[uses]))]] = True
        goes_on = (parent >= 0) & ~call & first
        at, names, uses = parent[goes_on].astype(np.int64), names[goes_on], uses[goes_on]
    return found


def constructor_tokens(
    code: bytes, tokens: tuple[Ints, Ints, NDArray[np.uint64]], cursors: Cursors, table: SymbolTable
) -> Iterator[Named]:
    """Yield the bytes that stand for each constructor call in the source; `tokens` are starts, ends and hashes.

    These are the bytes of the class's name before the arguments. Without a name there, they are those of the first name
    or brace of the call.
    An implicit conversion begins at its argument and is left out, unless the argument is a list in braces.
    """
    call = np.flatnonzero((cursors.kind == k.CALL) & (cursors.uses >= 0))
    call = call[table.constructor[cursors.uses[call]] & ~_in_macros(cursors, call)]
    if not len(call):
        return
    starts, ends, hashes = tokens
    start, head = cursors.start[call].astype(np.int64), _heads(cursors, call)
    braced = np.frombuffer(code, dtype=np.uint8)[start] == _BRACE
    written = (head > start) | braced
    call, start, head = call[written], start[written], head[written]
    first = np.searchsorted(starts, start)
    token = _spelled(starts, hashes, (first, head), table.spelling[cursors.uses[call]])
    for offset, number, spelled, limit, row in zip(
        start.tolist(), first.tolist(), token.tolist(), head.tolist(), cursors.uses[call].tolist(), strict=True
    ):
        if spelled >= 0:
            yield Named(int(starts[spelled]), int(ends[spelled]), row, True)
        elif number < len(starts) and code[offset : starts[number]].strip() in (b"", b"::"):
            last = _last_of_chain(code, (starts, ends), number, limit)
            yield Named(int(starts[last]), int(ends[last]), row, True)
        elif code[offset : offset + 1] == b"{":
            yield Named(offset, offset + 1, row, True)


def operator_names(
    code: bytes, keywords: Ints, cursors: Cursors, table: SymbolTable, called: NDArray[np.bool_]
) -> Iterator[Named]:
    """Yield the names of operators: `operator` with its symbol or type, and the suffix of a literal operator.

    `keywords` are the offsets of the word `operator`. `called` is the result of `callees`.
    """
    named = np.flatnonzero(_NAMES_OPERATOR[cursors.kind] & table.operator[cursors.uses])
    last = np.searchsorted(keywords, cursors.end[named]) - 1
    for cursor, place in zip(named.tolist(), last.tolist(), strict=True):
        row, calls = int(cursors.uses[cursor]), bool(called[cursor])
        start, stop = int(keywords[place]) if place >= 0 else -1, int(cursors.end[cursor])
        if start >= cursors.start[cursor] and (end := _name_end(code, start, stop)):
            yield Named(start, end, row, calls)
        elif _is_suffix(code, int(cursors.start[cursor])):
            yield Named(int(cursors.start[cursor]), stop, row, calls)


def _name_end(code: bytes, start: int, stop: int) -> int:
    """Return the end of the operator name whose keyword is at `start`.

    Only template arguments may follow it before `stop`, the end of the expression; else the result is 0.
    """
    symbol = _SYMBOL.match(code, start + len(_KEYWORD), stop)
    if not symbol:
        return stop if _CONVERSION.match(code, start + len(_KEYWORD), stop) else 0
    after = code[symbol.end() : stop].lstrip()
    return symbol.end() if not after or after.startswith(b"<") else 0


def _is_suffix(code: bytes, start: int) -> bool:
    """Return whether the suffix of a literal begins at `start`: a word directly after a literal."""
    return start > 0 and _SUFFIX.match(code, start - 1) is not None


def is_operator_keyword(hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which tokens are the word `operator`."""
    return np.equal(hashes, np.uint64(_KEYWORD_HASH))


def _in_macros(cursors: Cursors, chosen: Ints) -> NDArray[np.bool_]:
    """Return which of `chosen` a macro expands to: they all begin where the macro is used."""
    return among(cursors.start[chosen].astype(np.int64), cursors.start[cursors.kind == k.MACRO_USE].astype(np.int64))


def _heads(cursors: Cursors, call: Ints) -> Ints:
    """Return where the arguments of each call begin: at its first child that is no part of the type, else at its end.

    libclang ends the call in `new scope::T` after the scope, so there the end of the `new` expression counts.
    """
    child, last = call + 1, len(cursors.kind) - 1
    while True:
        at = np.minimum(child, last)
        held = (child <= last) & (cursors.parent[at] == call)
        skips = held & _REFERENCE[cursors.kind[at]]
        if not skips.any():
            break
        child = child + skips
    parent = cursors.parent[call]
    new = (parent >= 0) & (cursors.kind[parent] == k.NEW)
    end = np.where(new, cursors.end[parent], cursors.end[call])
    return np.where(held, cursors.start[at], end).astype(np.int64)


def _spelled(starts: Ints, hashes: NDArray[np.uint64], where: tuple[Ints, Ints], wanted: NDArray[np.uint64]) -> Ints:
    """Return the first token with the `wanted` hash from number `where[0]` on, before byte `where[1]`; else -1."""
    first, limit = where
    found = np.full(len(first), -1, dtype=np.int64)
    if not len(starts):
        return found
    for step in range(_HEAD_TOKENS):
        token = np.minimum(first + step, len(starts) - 1)
        fits = (found < 0) & (first + step < len(starts)) & (starts[token] < limit) & (hashes[token] == wanted)
        found[fits] = token[fits]
    return found


def _last_of_chain(code: bytes, tokens: tuple[Ints, Ints], number: int, limit: int) -> int:
    """Return the last token of the qualified name (`scope::alias`) that begins with token `number`."""
    starts, ends = tokens
    while number + 1 < len(starts) and starts[number + 1] < limit:
        if code[ends[number] : starts[number + 1]].strip() != b"::":
            break
        number += 1
    return number
