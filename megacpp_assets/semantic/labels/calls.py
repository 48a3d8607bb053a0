"""Which token calls, where the callee's name is not what stands there, and which names are called at all.

`T v(args)` and the initialiser `member(args)` call a constructor with the name of the variable or member, `new T` and
`T(x)` with the type's, `{args}` with its brace; `operator+(a, b)` names its callee with a keyword and a symbol.
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
"""Expressions that may lie around a callee's name within its call."""
_HEAD_TOKENS = 6
"""Identifiers among which a constructor's class is looked for: `new`, scopes, the class."""
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
    """Bytes [start, end) name the entity in `row` of the symbols; `calls` it or only refers to it."""

    start: int
    end: int
    row: int
    calls: bool


def callees(cursors: Cursors, operator: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Marks the cursors that name what a call around them calls; `operator` tells of each symbol whether it is one.

    A callee comes first in its call; an operator's stands between its operands. Of `(f)(x)` libclang gives no target.
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
    """The bytes that call each constructor whose call is written; `tokens` are starts, ends and hashes.

    That is the class's name before the arguments where it stands there, else the name or the brace with which the call
    begins. A conversion that nobody wrote begins with its argument, but for a list in braces.
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
    """Operators and conversions that are named by the keyword `operator`, which stands at `keywords`, and those of
    literals, which are named by the suffix; `called` are the `callees`."""
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
    """Where the operator's name ends that begins with the keyword at `start`, in an expression that ends with it or its
    template arguments at `stop`; 0 if something else follows."""
    symbol = _SYMBOL.match(code, start + len(_KEYWORD), stop)
    if not symbol:
        return stop if _CONVERSION.match(code, start + len(_KEYWORD), stop) else 0
    after = code[symbol.end() : stop].lstrip()
    return symbol.end() if not after or after.startswith(b"<") else 0


def _is_suffix(code: bytes, start: int) -> bool:
    """Whether a literal's suffix begins here: a word that follows a literal at once."""
    return start > 0 and _SUFFIX.match(code, start - 1) is not None


def is_operator_keyword(hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which tokens are the word `operator`."""
    return np.equal(hashes, np.uint64(_KEYWORD_HASH))


def _in_macros(cursors: Cursors, chosen: Ints) -> NDArray[np.bool_]:
    """Which of `chosen` a macro expands to: they begin where it is used, and all else in it does too."""
    return among(cursors.start[chosen].astype(np.int64), cursors.start[cursors.kind == k.MACRO_USE].astype(np.int64))


def _heads(cursors: Cursors, call: Ints) -> Ints:
    """Where the arguments of each call begin: its first child that names no part of the type, or its end.

    libclang ends `new scope::T` behind the scope: there the end of the whole expression counts.
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
    """The first token from `where[0]` on, before the byte `where[1]`, that has the `wanted` hash; -1 for none."""
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
    """The last token of the qualified name (`scope::alias`) that begins with token `number`."""
    starts, ends = tokens
    while number + 1 < len(starts) and starts[number + 1] < limit:
        if code[ends[number] : starts[number + 1]].strip() != b"::":
            break
        number += 1
    return number
