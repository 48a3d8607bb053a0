"""Symbol ids: the lower 31 bits of the md5 of a qualified name, never 0 (docs/contracts.md). They are stable."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.labels.identifiers import name_hashes
from megacpp_assets.semantic.outline import kinds as k
from megacpp_assets.semantic.parsing.parsed import Symbols

_LOW_31 = 0x7FFFFFFF


@lru_cache(maxsize=1 << 18)
def symbol_id(qualified_name: str) -> int:
    """Return the id of the entity `qualified_name`; 0 for an empty name. Overloads share one id."""
    if not qualified_name:
        return 0
    digest = hashlib.md5(qualified_name.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest, "big") & _LOW_31 or 1


@dataclass(frozen=True, slots=True)
class SymbolTable:
    """A file's symbols as parallel arrays, in their order. The last row, with index -1, is "no symbol" (id 0, hash 0).

    `operator` and `constructor` mark these functions, also if they are templates. Conversions count as operators.
    """

    usr: NDArray[np.uint64]
    id: NDArray[np.uint32]
    kind: NDArray[np.int64]
    spelling: NDArray[np.uint64]
    operator: NDArray[np.bool_]
    constructor: NDArray[np.bool_]


def symbol_table(symbols: Symbols) -> SymbolTable:
    """Return the table of a file's `symbols`."""
    spelling, operator = name_hashes(symbols.spelling)
    return SymbolTable(
        usr=np.append(symbols.usr, np.uint64(0)),
        id=np.array([*map(symbol_id, symbols.qualified_name), 0], dtype=np.uint32),
        kind=np.append(symbols.kind.astype(np.int64), 0),
        spelling=np.append(spelling, np.uint64(0)),
        operator=np.append(operator, False),
        constructor=np.append(_constructors(symbols), False),
    )


def _constructors(symbols: Symbols) -> NDArray[np.bool_]:
    """Return which of `symbols` are constructors. libclang's kind of a constructor template is FUNCTION_TEMPLATE."""
    found: NDArray[np.bool_] = symbols.kind == k.CONSTRUCTOR
    for row in np.flatnonzero(symbols.kind == k.FUNCTION_TEMPLATE).tolist():
        spelling = symbols.spelling[row]
        scope = symbols.qualified_name[row].removesuffix(spelling).removesuffix("::")
        found[row] = scope != "" and scope.rpartition("::")[2] == spelling.partition("<")[0]
    return found
