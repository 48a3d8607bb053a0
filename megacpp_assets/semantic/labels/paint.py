"""Gives every character of a file its category, tree position and symbols. CATEGORIES.md has the rules.

Later layers replace earlier ones: declarations (libclang, tree-sitter in the gaps), directives, comments. For tree
position and symbols the deepest cursor wins. Work is in bytes; the result is one value per character.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CATEGORY_ID, DEF_USE_DEF, DEF_USE_NONE, DEF_USE_USE
from megacpp_assets.contract.schemas import PAINTED_TYPES
from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.labels.calls import Named, callees, constructor_tokens, is_operator_keyword, operator_names
from megacpp_assets.semantic.labels.identifiers import identifiers, span_hashes
from megacpp_assets.semantic.labels.symbol_names import SymbolTable
from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.outline.file_outline import FileOutline
from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.outline.nodes import CATEGORY_OF_ROLE, Role
from megacpp_assets.semantic.outline.ranges import among, fill, flattened, keys, paint, spread
from megacpp_assets.semantic.parsing.parsed import Cursors
from megacpp_assets.semantic.tree.text import SourceText, lead_bytes

CHAR_DTYPE = np.dtype([(name, kind.to_pandas_dtype()) for name, kind in PAINTED_TYPES.items()])
"""The columns of one character."""

_CLIMB = 5
"""The number of ancestors of the innermost cursor that may give an identifier its entity."""
_TYPE_KIND = k.membership(k.TYPES)
_CATEGORY = np.array([CATEGORY_OF_ROLE[role] for role in Role], dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Painted:
    """`chars`: CHAR_DTYPE, one per character. `unlabelled`: the number of characters of code in no declaration."""

    chars: NDArray[np.void]
    unlabelled: int


def paint_file(
    source: SourceText, lexed: Lexed, outline: FileOutline, cursors: Cursors | None, table: SymbolTable
) -> Painted:
    """Return all character columns of a file."""
    size = len(source.data)
    chars = np.zeros(size, dtype=CHAR_DTYPE)
    chars[c.STRUCTURE_IDS] = _structure(outline, lexed)
    chars[c.AST_NODE_TYPE] = k.BUCKET_FILE
    if cursors is not None and len(cursors.kind):
        operators = _operator_names(cursors, table)
        owner = _innermost(size, cursors, operators)
        _paint_tree(chars, owner, cursors)
        tokens = _tokens(source.data, lexed)
        _paint_symbols(chars, tokens, owner, cursors, table)
        called = callees(cursors, table.operator)
        _operators(owner, cursors, table, (operators, called), chars)
        keywords = tokens.starts[is_operator_keyword(tokens.hashes)]
        _paint_named(chars, operator_names(source.data, keywords, cursors, table, called), table, symbols=True)
        words = (tokens.starts, tokens.ends, tokens.hashes)
        _paint_named(chars, constructor_tokens(source.data, words, cursors, table), table, symbols=False)
    chars[c.AST_NODE_TYPE][lexed.directed] = k.BUCKET_PREPROCESSOR
    if source.is_ascii:
        return Painted(chars, int(outline.unclaimed.sum()))
    lead = lead_bytes(source.data)
    return Painted(chars[lead], int(outline.unclaimed[lead].sum()))


def _structure(outline: FileOutline, lexed: Lexed) -> NDArray[np.uint8]:
    structure = np.append(_CATEGORY[outline.nodes.role], np.uint8(0))[outline.owner]
    structure[lexed.directed] = CATEGORY_ID["preamble"]
    structure[lexed.commented] = CATEGORY_ID["comment"]
    return structure


def _innermost(size: int, cursors: Cursors, operators: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the deepest cursor over each byte.

    Macro invocations get the lowest level, because libclang lists them outside of the tree. A reference to an
    overloaded operator spans its operands (`[i]`), so its level is below theirs.
    """
    starts, ends = cursors.start.astype(np.int64), np.minimum(cursors.end, size).astype(np.int64)
    macros = (cursors.kind == k.MACRO_USE) | (cursors.kind == k.MACRO_DEFINITION)
    ranges = keys(starts, ends)
    levels = 2 * flattened(cursors.depth.astype(np.int64), ranges, ranges[macros])
    levels[operators] -= 3
    levels[macros] = 0
    return paint(size, starts, ends, levels)


def _operator_names(cursors: Cursors, table: SymbolTable) -> NDArray[np.int64]:
    """Return the indices of the cursors that refer to an `operator…`."""
    named = np.flatnonzero((cursors.kind == k.DECL_REF_EXPR) | (cursors.kind == k.UNEXPOSED_EXPR))
    return named[table.operator[cursors.uses[named]]]


def _paint_tree(chars: NDArray[np.void], owner: NDArray[np.int32], cursors: Cursors) -> None:
    buckets = k.BUCKET_OF_KIND[np.minimum(cursors.kind, k.KINDS - 1)]
    columns = ((c.AST_DEPTH, cursors.depth), (c.SIBLING_INDEX, cursors.sibling), (c.AST_NODE_TYPE, buckets))
    for name, values in columns:
        spread(chars, name, owner, values)


def _paint_symbols(
    chars: NDArray[np.void], tokens: _Tokens, owner: NDArray[np.int32], cursors: Cursors, table: SymbolTable
) -> None:
    """Give identifier tokens and overloaded operators the entity they declare, use, call or name as a type."""
    symbol = np.full(len(tokens.starts), -1, dtype=np.int32)
    mode, call = np.full(len(symbol), DEF_USE_NONE, dtype=np.uint8), symbol.copy()
    _macros(tokens, cursors, table, (symbol, mode, call))
    # From the innermost cursor of a token outwards, the first one whose entity has the token's spelling counts.
    _visitor.name_tokens(
        owner[tokens.starts], tokens.hashes, cursors.parent, cursors.kind == k.CALL, cursors.declares, cursors.uses,
        table.spelling, _CLIMB, symbol, mode, call,
    )  # fmt: skip
    typed = (mode == DEF_USE_USE) & _TYPE_KIND[np.minimum(table.kind[symbol], k.KINDS - 1)]
    columns = (
        (c.SYMBOL_IDS, table.id[symbol]),
        (c.DEF_USE, mode),
        (c.CALL_TARGETS, table.id[call]),
        (c.TYPE_REFS, np.where(typed, table.id[symbol], 0)),
    )
    for name, values in columns:
        fill(chars, name, tokens.starts, tokens.ends, values)


def _macros(tokens: _Tokens, cursors: Cursors, table: SymbolTable, columns: tuple[NDArray[Any], ...]) -> None:
    """Set the entities of macro names. They come first, because cursors of the expansion have the same range."""
    symbol, mode, call = columns
    for kind, row, value in (
        (k.MACRO_DEFINITION, cursors.declares, DEF_USE_DEF),
        (k.MACRO_USE, cursors.uses, DEF_USE_USE),
    ):
        chosen = np.flatnonzero(cursors.kind == kind)
        token = np.searchsorted(tokens.starts, cursors.start[chosen])
        hit = token < len(tokens.starts)
        hit[hit] = tokens.starts[token[hit]] == cursors.start[chosen[hit]]
        symbol[token[hit]], mode[token[hit]] = row[chosen[hit]], value
        if kind == k.MACRO_USE:
            call[token[hit]] = row[chosen[hit]]


def _operators(
    owner: NDArray[np.int32],
    cursors: Cursors,
    table: SymbolTable,
    facts: tuple[NDArray[np.int64], NDArray[np.bool_]],
    chars: NDArray[np.void],
) -> None:
    """Set the entities of overloaded operators: the bytes that only a reference to `operator…` owns.

    Macro expansions are left out. `facts` are these references and the callees.
    """
    operators, called = facts
    if not len(operators):
        return
    uses = cursors.kind == k.MACRO_USE
    expanded = keys(cursors.start[uses], cursors.end[uses])
    chosen = operators[~among(keys(cursors.start[operators], cursors.end[operators]), expanded)]
    named = np.zeros(len(cursors.kind) + 1, dtype=bool)
    named[chosen] = True
    mine = np.flatnonzero(named[owner])
    mine = mine[chars[c.SYMBOL_IDS][mine] == 0]
    ids = table.id[cursors.uses[owner[mine]]]
    chars[c.SYMBOL_IDS][mine], chars[c.DEF_USE][mine] = ids, DEF_USE_USE
    chars[c.CALL_TARGETS][mine] = np.where(called[owner[mine]], ids, 0)


def _paint_named(chars: NDArray[np.void], found: Iterator[Named], table: SymbolTable, *, symbols: bool) -> None:
    """Give the bytes of each name its callee, unless they have one, and with `symbols` its entity."""
    for start, end, row, calls in found:
        part = chars[start:end]
        if symbols:
            part[c.SYMBOL_IDS], part[c.DEF_USE] = table.id[row], DEF_USE_USE
        if calls and not part[c.CALL_TARGETS].any():
            part[c.CALL_TARGETS] = table.id[row]


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Identifier tokens outside of comments and literals, with the hashes of their spellings."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    hashes: NDArray[np.uint64]


def _tokens(code: bytes, lexed: Lexed) -> _Tokens:
    starts, ends = identifiers(code)
    kept = ~(lexed.commented | lexed.quoted)[starts]
    starts, ends = starts[kept], ends[kept]
    return _Tokens(starts, ends, span_hashes(code, starts, ends))
