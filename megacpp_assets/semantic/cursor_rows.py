"""Which symbol each cursor declares and which it uses: rows of a file's symbol table, looked up once for all layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.parsed import Cursors
from megacpp_assets.semantic.symbol_names import SymbolTable

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CursorRows:
    """The row of `table` for what each cursor declares, and for what it uses; the "none" row where there is nothing."""

    table: SymbolTable
    declares: Rows
    uses: Rows


def cursor_rows(cursors: Cursors, table: SymbolTable) -> CursorRows:
    """The rows of all `cursors`."""
    return CursorRows(table, _rows(table, cursors.usr), _rows(table, cursors.ref))


def _rows(table: SymbolTable, usrs: NDArray[np.uint64]) -> Rows:
    # Most cursors name nothing: only those that do are looked for.
    rows = np.full(len(usrs), len(table.usr) - 1)
    named = np.flatnonzero(usrs)
    rows[named] = table.rows(usrs[named])
    return rows
