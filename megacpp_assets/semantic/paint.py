"""Every character of a file gets its category, tree position and symbols; see CATEGORIES.md for the rules.

Layers, later over earlier: declarations (libclang, tree-sitter in the gaps), preprocessor lines, comments. For tree
position and symbols the deepest cursor wins. Work is in bytes; the result is one value per character.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CATEGORY_ID, DEF_USE_DEF, DEF_USE_USE
from megacpp_assets.contract.schemas import CHAR_TYPES
from megacpp_assets.semantic import kinds as k
from megacpp_assets.semantic.file_outline import FileOutline
from megacpp_assets.semantic.identifiers import identifiers, span_hashes
from megacpp_assets.semantic.lexer import Lexed, inside
from megacpp_assets.semantic.outline import CATEGORY_OF_ROLE
from megacpp_assets.semantic.parsed import Cursors
from megacpp_assets.semantic.ranges import cover, expand, flattened, keys, paint
from megacpp_assets.semantic.symbol_names import SymbolTable
from megacpp_assets.semantic.text import SourceText, lead_bytes

CHAR_DTYPE = np.dtype([(name, kind.to_pandas_dtype()) for name, kind in CHAR_TYPES.items()])
"""One character's columns."""

_CLIMB = 5
"""How many ancestors of the innermost cursor may give an identifier its meaning."""
_TYPE_KIND = k.membership(k.TYPES)


@dataclass(frozen=True, slots=True)
class Painted:
    """`chars`: CHAR_DTYPE, one per character. `unlabelled`: characters of code that no layer claimed."""

    chars: NDArray[np.void]
    unlabelled: int


def paint_file(
    source: SourceText, lexed: Lexed, outline: FileOutline, cursors: Cursors | None, table: SymbolTable
) -> Painted:
    """All character columns of a file."""
    size = len(source.data)
    chars = np.zeros(size, dtype=CHAR_DTYPE)
    directives, comments = cover(size, *lexed.directives.T), cover(size, *lexed.comments.T)
    chars[c.STRUCTURE_IDS] = _structure(outline, directives, comments)
    chars[c.AST_NODE_TYPE] = k.BUCKET_FILE
    if cursors is not None and len(cursors.kind):
        owner = _innermost(size, cursors, table)
        _paint_tree(chars, owner, cursors)
        _paint_symbols(chars, _tokens(source.code, lexed), owner, cursors, table)
        _operators(owner, cursors, table, chars)
    chars[c.AST_NODE_TYPE][directives] = k.BUCKET_PREPROCESSOR
    unlabelled = outline.solid & (outline.owner < 0)
    if source.is_ascii:
        return Painted(chars, int(unlabelled.sum()))
    lead = lead_bytes(source.data)
    return Painted(chars[lead], int(unlabelled[lead].sum()))


def _structure(outline: FileOutline, directives: NDArray[np.bool_], comments: NDArray[np.bool_]) -> NDArray[np.uint8]:
    category = np.array([CATEGORY_OF_ROLE[node.role] for node in outline.nodes] + [0], dtype=np.uint8)
    structure = category[outline.owner]
    structure[directives] = CATEGORY_ID["preamble"]
    structure[comments] = CATEGORY_ID["comment"]
    return structure


def _innermost(size: int, cursors: Cursors, table: SymbolTable) -> NDArray[np.int32]:
    """The deepest cursor over each byte.

    Macro invocations lie below all else, as libclang lists them apart; a reference to an overloaded operator spans its
    operands (`[i]`), and so yields to them.
    """
    starts, ends = cursors.start.astype(np.int64), np.minimum(cursors.end, size).astype(np.int64)
    macros = (cursors.kind == k.MACRO_USE) | (cursors.kind == k.MACRO_DEFINITION)
    ranges = keys(starts, ends)
    levels = 2 * flattened(cursors.depth.astype(np.int64), ranges, ranges[macros])
    levels[_operator_names(cursors, table)] -= 3
    levels[macros] = 0
    return paint(size, starts, ends, levels)


def _operator_names(cursors: Cursors, table: SymbolTable) -> NDArray[np.bool_]:
    named = (cursors.kind == k.DECL_REF_EXPR) | (cursors.kind == k.UNEXPOSED_EXPR)
    return np.asarray(named & table.operator[table.rows(cursors.ref)])


def _paint_tree(chars: NDArray[np.void], owner: NDArray[np.int32], cursors: Cursors) -> None:
    seen = owner >= 0
    chars[c.AST_DEPTH] = np.where(seen, cursors.depth[owner], 0)
    chars[c.SIBLING_INDEX] = np.where(seen, cursors.sibling[owner], 0)
    buckets = k.BUCKET_OF_KIND[np.minimum(cursors.kind, k.KINDS - 1)]
    chars[c.AST_NODE_TYPE] = np.where(seen, buckets[owner], k.BUCKET_FILE)


def _paint_symbols(
    chars: NDArray[np.void],
    tokens: _Tokens,
    owner: NDArray[np.int32],
    cursors: Cursors,
    table: SymbolTable,
) -> None:
    """Give identifier tokens and overloaded operators the entity they declare, use, call or name as a type."""
    none = len(table.usr) - 1
    declares, uses = table.rows(cursors.usr), table.rows(cursors.ref)
    symbol = np.full(len(tokens.starts), none)
    mode, call = np.zeros(len(symbol), dtype=np.int64), symbol.copy()
    _macros(tokens, cursors, (declares, uses), (symbol, mode, call))
    current = owner[tokens.starts].astype(np.int64)
    for _ in range(_CLIMB):
        seen = current >= 0
        for row, value in ((declares, DEF_USE_DEF), (uses, DEF_USE_USE)):
            fits = (symbol == none) & seen & tokens.spell(table, row[current])
            symbol[fits], mode[fits] = row[current[fits]], value
        fits = (call == none) & seen & (cursors.kind[current] == k.CALL) & tokens.spell(table, uses[current])
        call[fits] = uses[current[fits]]
        current = np.where(seen, cursors.parent[current], -1)
    typed = (mode == DEF_USE_USE) & _TYPE_KIND[np.minimum(table.kind[symbol], k.KINDS - 1)]
    where, times = expand(tokens.starts, tokens.ends), tokens.ends - tokens.starts
    chars[c.SYMBOL_IDS][where] = np.repeat(table.id[symbol], times)
    chars[c.DEF_USE][where] = np.repeat(mode, times)
    chars[c.CALL_TARGETS][where] = np.repeat(table.id[call], times)
    chars[c.TYPE_REFS][where] = np.repeat(np.where(typed, table.id[symbol], 0), times)


def _macros(tokens: _Tokens, cursors: Cursors, rows: tuple[_Rows, _Rows], columns: tuple[_Rows, _Rows, _Rows]) -> None:
    """Macro names first: what a macro expands to has its range, but the name there is the macro's."""
    symbol, mode, call = columns
    for kind, row, value in ((k.MACRO_DEFINITION, rows[0], DEF_USE_DEF), (k.MACRO_USE, rows[1], DEF_USE_USE)):
        chosen = np.flatnonzero(cursors.kind == kind)
        token = np.searchsorted(tokens.starts, cursors.start[chosen])
        hit = token < len(tokens.starts)
        hit[hit] = tokens.starts[token[hit]] == cursors.start[chosen[hit]]
        symbol[token[hit]], mode[token[hit]] = row[chosen[hit]], value
        if kind == k.MACRO_USE:
            call[token[hit]] = row[chosen[hit]]


def _operators(owner: NDArray[np.int32], cursors: Cursors, table: SymbolTable, chars: NDArray[np.void]) -> None:
    """Overloaded operators: the bytes that a reference to `operator…` alone owns, outside macro expansions."""
    ranges = keys(cursors.start, cursors.end)
    chosen = _operator_names(cursors, table) & ~np.isin(ranges, ranges[cursors.kind == k.MACRO_USE])
    mine = (owner >= 0) & chosen[owner] & (chars[c.SYMBOL_IDS] == 0)
    ids = table.id[table.rows(cursors.ref)[owner[mine]]]
    chars[c.SYMBOL_IDS][mine], chars[c.CALL_TARGETS][mine], chars[c.DEF_USE][mine] = ids, ids, DEF_USE_USE


_Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Identifier tokens outside comments and literals, with the hashes of their spellings."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    hashes: NDArray[np.uint64]

    def spell(self, table: SymbolTable, rows: _Rows) -> NDArray[np.bool_]:
        """Whether each token spells the entity in the row beside it."""
        return np.asarray((table.spelling[rows] == self.hashes) & (rows < len(table.usr) - 1))


def _tokens(code: bytes, lexed: Lexed) -> _Tokens:
    starts, ends = identifiers(code)
    kept = ~inside(lexed.comments, starts) & ~inside(lexed.literals, starts)
    starts, ends = starts[kept], ends[kept]
    return _Tokens(starts, ends, span_hashes(np.frombuffer(code, dtype=np.uint8), starts, ends))
