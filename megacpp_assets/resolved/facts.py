"""The facts about one file from libclang: its functions, their callees, and the types that they use, with their places.

Only symbols that are declared in the tree count. Offsets are bytes of the file, half-open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.parsing.parsed import FLAG_OVERLOADED

CALLS, USES = 0, 1
"""The kinds of uses: a function calls a function, or it uses a class."""
EXACT, OVERLOAD = "exact", "overload"
_FUNCTION: Final = k.membership(k.FUNCTIONS)
_CLASS: Final = k.membership(k.CLASSES)
_BODY: Final = k.membership(frozenset({k.COMPOUND, k.TRY}))
_TYPE_REFERENCE: Final = k.membership(k.TYPE_REFERENCES)
_NOWHERE: Final = -1


class ResolvedSymbol(NamedTuple):
    """An entity: the hash of its USR, its names, and its place.

    The place is that of its definition if the unit has it (`defined`), else of its declaration.
    """

    usr: int
    name: str
    spelling: str
    path: str
    start: int
    end: int
    defined: bool


class Function(NamedTuple):
    """A function with a body: its bytes, its symbol, and the symbol of the class that contains it, or -1."""

    start: int
    end: int
    symbol: int
    holder: int


class SymbolUse(NamedTuple):
    """A function of the file calls or uses a symbol. `offset` is the first place of that."""

    function: int
    kind: int
    symbol: int
    offset: int
    confidence: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one file. `reason` is why they are missing, or "".

    `functions` are those outside of other functions, in order; `uses` in the order of the text. `bases` are (class,
    direct base) and `overrides` (method, method of a base that it overrides), as symbols.
    """

    reason: str = ""
    symbols: Sequence[ResolvedSymbol] = ()
    functions: Sequence[Function] = ()
    uses: Sequence[SymbolUse] = ()
    bases: Sequence[tuple[int, int]] = ()
    overrides: Sequence[tuple[int, int]] = ()

    def to_bytes(self) -> bytes:
        """Return the facts as JSON. Equal facts give equal bytes."""
        columns = (self.symbols, self.functions, self.uses, self.bases, self.overrides)
        return orjson.dumps([self.reason, *([tuple(row) for row in column] for column in columns)])

    @classmethod
    def from_bytes(cls, data: bytes) -> Facts:
        """Do the inverse of `to_bytes`."""
        reason, symbols, functions, uses, bases, overrides = orjson.loads(data)
        return cls(
            reason,
            [ResolvedSymbol(*each) for each in symbols],
            [Function(*each) for each in functions],
            [SymbolUse(*each) for each in uses],
            [(first, second) for first, second in bases],
            [(first, second) for first, second in overrides],
        )


def facts_of(found: Mapping[str, Any]) -> Facts:
    """Return the facts of a file from the result of the visitor, which must have the places of symbols."""
    cursors, places = found["cursors"], found["places"]
    bodies = _bodies(cursors)
    owner = _owners(cursors["parent"].tolist(), frozenset(bodies))
    rows = _Rows(found["symbols"], places)
    functions: list[Function] = []
    number: dict[int, int] = {}
    for cursor in dict.fromkeys(each for each in owner if each >= 0):
        row = int(cursors["declares"][cursor])
        number[cursor] = len(functions)
        bytes_ = int(cursors["start"][cursor]), int(cursors["end"][cursor])
        functions.append(Function(*bytes_, rows.number(row), rows.number(int(places["holder"][row]))))
    uses = [use._replace(function=number[use.function]) for use in _uses(cursors, owner, rows)]
    bases, overrides = rows.pairs(places["bases"]), rows.pairs(places["overrides"])
    return Facts("", rows.symbols, functions, uses, bases, overrides)


def _bodies(cursors: Mapping[str, NDArray[Any]]) -> list[int]:
    """Return the cursors of functions with a body, without those that a macro defines."""
    kind, parent, start, end = (cursors[name].astype(np.int64) for name in ("kind", "parent", "start", "end"))
    above = kind[np.maximum(parent, 0)]
    found = parent[_BODY[kind] & (end > start + 1) & (parent >= 0) & _FUNCTION[above]]
    found = np.unique(found[cursors["declares"][found] >= 0])
    macros = kind == k.MACRO_USE
    order = np.argsort(start[macros], kind="stable")
    starts, ends = start[macros][order], end[macros][order]
    if not len(starts):
        return list(found.tolist())
    nearest = np.searchsorted(starts, start[found], side="right") - 1
    made = (nearest >= 0) & (end[found] <= ends[np.maximum(nearest, 0)])
    return list(found[~made].tolist())


def _owners(parents: Sequence[int], bodies: frozenset[int]) -> list[int]:
    """Return the outermost function around each cursor (or itself), or -1. Parents must come before their children."""
    owner: list[int] = []
    for cursor, parent in enumerate(parents):
        above = owner[parent] if parent >= 0 else _NOWHERE
        owner.append(above if above >= 0 or cursor not in bodies else cursor)
    return owner


def _uses(cursors: Mapping[str, NDArray[Any]], owner: Sequence[int], rows: _Rows) -> Iterator[SymbolUse]:
    """Yield each use of a symbol of the tree by a function, which is given as its cursor. Equal uses come once."""
    seen: set[tuple[int, int, int]] = set()
    owners, used = np.array(owner, dtype=np.int64), cursors["uses"]
    kind = cursors["kind"]
    chosen = np.flatnonzero((owners >= 0) & (used >= 0) & ((kind == k.CALL) | _TYPE_REFERENCE[kind]))
    for cursor in chosen.tolist():
        row = int(used[cursor])
        use = rows.kind_of_use(row, call=int(kind[cursor]) == k.CALL)
        key = owner[cursor], use, row
        if use < 0 or key in seen:
            continue
        seen.add(key)
        sure = OVERLOAD if cursors["flags"][cursor] & FLAG_OVERLOADED else EXACT
        yield SymbolUse(owner[cursor], use, rows.number(row), int(cursors["start"][cursor]), sure)


class _Rows:
    """The symbols of a unit that occur in the facts, numbered in the order in which they are asked for."""

    def __init__(self, symbols: Mapping[str, Any], places: Mapping[str, Any]) -> None:
        self.symbols: list[ResolvedSymbol] = []
        self._all = symbols
        self._places = places
        self._files = [name.decode("utf-8", "surrogateescape") for name in places["files"]]
        self._number: dict[int, int] = {}

    def kind_of_use(self, row: int, *, call: bool) -> int:
        """Return CALLS or USES for a use of the symbol; -1 for other symbols and for those outside of the tree."""
        kind = int(self._all["kind"][row])
        if self._places["file"][row] < 0:
            return _NOWHERE
        if call:
            return CALLS if _FUNCTION[kind] else _NOWHERE
        return USES if _CLASS[kind] else _NOWHERE

    def number(self, row: int) -> int:
        """Return the number of the symbol in `row`; -1 for -1."""
        if row < 0:
            return _NOWHERE
        if row not in self._number:
            self._number[row] = len(self.symbols)
            self.symbols.append(self._symbol(row))
        return self._number[row]

    def _symbol(self, row: int) -> ResolvedSymbol:
        symbols, places = self._all, self._places
        file = int(places["file"][row])
        return ResolvedSymbol(
            int(symbols["usr"][row]),
            symbols["qualified_name"][row],
            symbols["spelling"][row],
            self._files[file] if file >= 0 else "",
            int(places["start"][row]),
            int(places["end"][row]),
            bool(places["defined"][row]),
        )

    def pairs(self, flat: NDArray[np.int32]) -> list[tuple[int, int]]:
        """Return the pairs whose first symbol is numbered, and all pairs that can be reached from these."""
        all_pairs = [(first, second) for first, second in flat.reshape(-1, 2).tolist()]
        found: list[tuple[int, int]] = []
        named = -1
        while named < len(self._number):
            named = len(self._number)
            known = set(self._number)
            found = [(self.number(one), self.number(two)) for one, two in all_pairs if one in known]
        return found
