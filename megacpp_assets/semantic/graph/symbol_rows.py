"""What a file tells the symbol table: where each entity is declared, and entities of which it knows no place.

The ids that paint gives to characters come from a parse's symbols, and each of those is here in one way or the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntFlag
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.labels.symbol_names import symbol_id
from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.nodes import Outline, Role
from megacpp_assets.semantic.parsing.parsed import FLAG_DEFINITION, ParsedFile

FUNCTION, MACRO, NAMESPACE = "function", "macro", "namespace"
_KIND_NAMES = {
    **dict.fromkeys(sorted(k.FUNCTIONS), FUNCTION),
    **dict.fromkeys(sorted(k.CLASSES - {k.ENUM}), "class"),
    **dict.fromkeys(sorted(k.ALIASES), "typedef"),
    **dict.fromkeys((k.TEMPLATE_TYPE, k.TEMPLATE_VALUE, k.TEMPLATE_TEMPLATE), "template_parameter"),
    k.ENUM: "enum",
    k.ENUM_CONSTANT: "enumerator",
    k.FIELD: "field",
    k.VARIABLE: "variable",
    k.PARAMETER: "parameter",
    k.CONCEPT: "concept",
    k.MACRO_DEFINITION: MACRO,
    k.NAMESPACE: NAMESPACE,
    k.NAMESPACE_ALIAS: NAMESPACE,
}
_ROLE_NAMES = {Role.CLASS: "class", Role.FUNCTION: FUNCTION, Role.PROTOTYPE: FUNCTION, Role.TYPEDEF: "typedef"}
_OTHER = "other"
KINDS = tuple(sorted({*_KIND_NAMES.values(), _OTHER}))
"""What an entity may be."""
_PLACE_IN_KINDS = {kind: place for place, kind in enumerate(KINDS)}


class SymbolRow(NamedTuple):
    """One row, fields in the order of its columns; an entity without a place has no path and no range."""

    symbol_id: int
    name: str
    kind: str
    definition: bool = False
    path: str | None = None
    start: int | None = None
    end: int | None = None


class Form(IntFlag):
    """How an entity is declared in a place."""

    OUTER = 1
    """Outside of functions."""
    BODY = 2
    """A function with its body."""
    PARSED = 4
    """The parser saw it: no other arm of a conditional has it."""


@dataclass(frozen=True, slots=True, eq=False)
class Entities:
    """The places of a file that declare an entity, each once, by offset and name, as parallel columns: its id, name,
    kind (an index of KINDS), whether it defines, its range, and as bits its Form. `used` are (name, kind) of what the
    file refers to and has no place of, sorted.
    """

    id: NDArray[np.uint32]
    name: Sequence[str]
    kind: NDArray[np.uint8]
    definition: NDArray[np.bool_]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    form: NDArray[np.uint8]
    used: Sequence[tuple[str, str]]

    def declared(self) -> Iterator[tuple[str, str]]:
        """(name, kind) of each place."""
        return zip(self.name, map(KINDS.__getitem__, self.kind.tolist()), strict=True)


_Place = tuple[int, str, int, str, bool]
"""Start, name, end, kind and whether it defines: what orders the rows of a file."""


def entities_of(declarations: Outline, parsed: ParsedFile) -> Entities:
    """Those of a file whose outline has the named `declarations`."""
    forms = dict.fromkeys(_inside(declarations, parsed), Form(0)) | dict(_outlined(declarations))
    places = sorted(forms)
    start, name, end, kind, definition = zip(*places, strict=True) if places else repeat((), 5)
    met = {(symbol.qualified_name, _KIND_NAMES.get(symbol.kind, _OTHER)) for symbol in parsed.symbols}
    return Entities(
        id=np.array(list(map(symbol_id, name)), dtype=np.uint32),
        name=name,
        kind=np.array(list(map(_PLACE_IN_KINDS.__getitem__, kind)), dtype=np.uint8),
        definition=np.array(definition, dtype=np.bool_),
        start=np.array(start, dtype=np.int64),
        end=np.array(end, dtype=np.int64),
        form=np.array([forms[place] for place in places], dtype=np.uint8),
        used=sorted(met.difference(zip(name, kind, strict=True))),
    )


def without_place(entities: set[tuple[str, str]]) -> list[SymbolRow]:
    """Rows of `entities`, (name, kind), by id; two names with one id are two rows."""
    return sorted(SymbolRow(symbol_id(name), name, kind) for name, kind in entities)


def _outlined(declarations: Outline) -> Iterator[tuple[_Place, Form]]:
    """Declarations outside function bodies, with what stands before them and up to their semicolon, and their forms."""
    for node in declarations:
        kind = _KIND_NAMES.get(node.kind) or _ROLE_NAMES.get(node.role, _OTHER)
        form = Form.OUTER | (Form.BODY if node.role == Role.FUNCTION else 0) | (Form.PARSED if node.usr else 0)
        yield (node.start, node.name, node.end, kind, node.definition), form


def _inside(declarations: Outline, parsed: ParsedFile) -> Iterator[_Place]:
    """What the outline does not hold: parameters, what functions declare, macros, namespaces."""
    cursors = parsed.cursors
    if cursors is None:
        return
    symbols = list(parsed.symbols)
    chosen = np.flatnonzero(cursors.declares >= 0)
    chosen = chosen[~np.isin(parsed.symbols.usrs(cursors.declares[chosen]), declarations.usr)]
    columns = (cursors.declares, cursors.flags & FLAG_DEFINITION, cursors.start, cursors.end)
    for row, definition, start, end in zip(*(column[chosen].tolist() for column in columns), strict=True):
        symbol = symbols[row]
        yield start, symbol.qualified_name, end, _KIND_NAMES.get(symbol.kind, _OTHER), bool(definition)
