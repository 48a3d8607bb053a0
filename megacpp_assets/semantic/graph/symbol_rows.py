"""Rows of the symbol table: where each entity of a file is declared, and entities of which no place is known.

The ids that paint gives to characters come from a parse's symbols, and each of those gets a row here or there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from megacpp_assets.semantic.graph.analysis import FileFacts
from megacpp_assets.semantic.labels.symbol_names import symbol_id
from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.nodes import Role
from megacpp_assets.semantic.parsing.parsed import FLAG_DEFINITION

MACRO, NAMESPACE = "macro", "namespace"
_KIND_NAMES = {
    **dict.fromkeys(sorted(k.FUNCTIONS), "function"),
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
_ROLE_NAMES = {Role.CLASS: "class", Role.FUNCTION: "function", Role.PROTOTYPE: "function", Role.TYPEDEF: "typedef"}
_OTHER = "other"


class SymbolRow(NamedTuple):
    """One row, fields in the order of its columns; an entity without a place has no path and no range."""

    symbol_id: int
    name: str
    kind: str
    definition: bool = False
    path: str | None = None
    start: int | None = None
    end: int | None = None


_Place = tuple[int, str, int, str, bool]
"""Start, name, end, kind and whether it defines: what orders the rows of a file."""


def declared_in(facts: FileFacts) -> list[SymbolRow]:
    """Where the entities of a file are declared, each row once, by offset and name."""
    path = facts.source.path
    places = sorted({*_outlined(facts), *_inside(facts)})
    return [
        SymbolRow(symbol_id(name), name, kind, definition, path, start, end)
        for start, name, end, kind, definition in places
    ]


def met_in(facts: FileFacts) -> Iterator[tuple[str, str]]:
    """(name, kind) of every entity that a file declares or refers to, with repetitions."""
    return ((symbol.qualified_name, _KIND_NAMES.get(symbol.kind, _OTHER)) for symbol in facts.parsed.symbols)


def without_place(entities: set[tuple[str, str]]) -> list[SymbolRow]:
    """Rows of `entities`, (name, kind), by id; two names with one id are two rows."""
    return sorted(SymbolRow(symbol_id(name), name, kind) for name, kind in entities)


def _outlined(facts: FileFacts) -> Iterator[_Place]:
    """Declarations outside function bodies, with what stands before them and up to their semicolon."""
    for node in facts.declarations:
        kind = _KIND_NAMES.get(node.kind) or _ROLE_NAMES.get(node.role, _OTHER)
        yield node.start, node.name, node.end, kind, node.definition


def _inside(facts: FileFacts) -> Iterator[_Place]:
    """What the outline does not hold: parameters, what functions declare, macros, namespaces."""
    cursors = facts.parsed.cursors
    if cursors is None:
        return
    symbols = list(facts.parsed.symbols)
    chosen = np.flatnonzero(cursors.declares >= 0)
    chosen = chosen[~np.isin(facts.parsed.symbols.usrs(cursors.declares[chosen]), facts.declarations.usr)]
    columns = (cursors.declares, cursors.flags & FLAG_DEFINITION, cursors.start, cursors.end)
    for row, definition, start, end in zip(*(column[chosen].tolist() for column in columns), strict=True):
        symbol = symbols[row]
        yield start, symbol.qualified_name, end, _KIND_NAMES.get(symbol.kind, _OTHER), bool(definition)
