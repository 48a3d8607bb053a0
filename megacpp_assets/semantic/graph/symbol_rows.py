"""The part of a file in the symbol table: where each entity is declared, and entities that it only refers to.

The symbol ids of characters come from the parse's symbols, and each of these symbols is in one of the two groups.
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

CLASS, FUNCTION, MACRO, NAMESPACE, ENUMERATOR = "class", "function", "macro", "namespace", "enumerator"
_KIND_NAMES = {
    **dict.fromkeys(sorted(k.FUNCTIONS), FUNCTION),
    **dict.fromkeys(sorted(k.CLASSES - {k.ENUM}), CLASS),
    **dict.fromkeys(sorted(k.ALIASES), "typedef"),
    **dict.fromkeys((k.TEMPLATE_TYPE, k.TEMPLATE_VALUE, k.TEMPLATE_TEMPLATE), "template_parameter"),
    k.ENUM: "enum",
    k.ENUM_CONSTANT: ENUMERATOR,
    k.FIELD: "field",
    **dict.fromkeys((k.VARIABLE, k.UNEXPOSED), "variable"),  # a variable template has no kind of its own
    k.PARAMETER: "parameter",
    k.CONCEPT: "concept",
    k.MACRO_DEFINITION: MACRO,
    k.NAMESPACE: NAMESPACE,
    k.NAMESPACE_ALIAS: NAMESPACE,
}
_ROLE_NAMES = {Role.CLASS: CLASS, Role.FUNCTION: FUNCTION, Role.PROTOTYPE: FUNCTION, Role.TYPEDEF: "typedef"}
_OTHER = "other"
KINDS = tuple(sorted({*_KIND_NAMES.values(), _OTHER}))
"""The kinds of entities."""
_PLACE_IN_KINDS = {kind: place for place, kind in enumerate(KINDS)}


class SymbolRow(NamedTuple):
    """One row of the symbol table, with its columns in order.

    An entity that is only referred to has no path and range.
    """

    symbol_id: int
    name: str
    kind: str
    definition: bool = False
    path: str | None = None
    start: int | None = None
    end: int | None = None


class Form(IntFlag):
    """Properties of a declaration."""

    OUTER = 1
    """It is outside of functions."""
    BODY = 2
    """It is a function with its body."""
    PARSED = 4
    """libclang saw it, so it is not in an arm of a conditional that was dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class Entities:
    """The declarations of a file as parallel columns, each once, in the order of offset and name.

    `kind` is an index of KINDS, `form` has the bits of Form, and [start, end) is the byte range. `used` are the sorted
    (name, kind) of entities that the file only refers to.
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
        """Return (name, kind) of each declaration."""
        return zip(self.name, map(KINDS.__getitem__, self.kind.tolist()), strict=True)

    def named(self, start: int, end: int, kind: int | None = None) -> list[str]:
        """Return the names of what is declared in bytes [start, end), or of what has that kind, an index of KINDS."""
        first, last = np.searchsorted(self.start, (start, end)).tolist()
        return [self.name[row] for row in range(first, last) if kind is None or self.kind[row] == kind]


_Place = tuple[int, str, int, str, bool]
"""Start, name, end, kind and whether it is a definition. Rows of a file are sorted by it."""


def entities_of(declarations: Outline, parsed: ParsedFile) -> Entities:
    """Return the entities of a file. `declarations` are the nodes of its outline that have a name."""
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
    """Return the rows of `entities`, (name, kind), sorted by id. Two names with one id are two rows."""
    return sorted(SymbolRow(symbol_id(name), name, kind) for name, kind in entities)


def _outlined(declarations: Outline) -> Iterator[tuple[_Place, Form]]:
    """Yield the declarations outside of function bodies, with their attributes and semicolon, and their forms."""
    for node in declarations:
        kind = _KIND_NAMES.get(node.kind) or _ROLE_NAMES.get(node.role, _OTHER)
        form = Form.OUTER | (Form.BODY if node.role == Role.FUNCTION else 0) | (Form.PARSED if node.usr else 0)
        yield (node.start, node.name, node.end, kind, node.definition), form


def _inside(declarations: Outline, parsed: ParsedFile) -> Iterator[_Place]:
    """Yield declarations that are not in the outline: parameters, local entities, macros, namespaces."""
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
