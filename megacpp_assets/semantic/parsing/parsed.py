"""The raw result of one parse: the cursors of the main file as parallel arrays, and the names of symbols."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Cursors:
    """Cursors of the main file in pre-order, one element each. Offsets are bytes into the file, half-open.

    `kind` is libclang's CXCursorKind; `depth` counts from 1 at the translation unit's children; `sibling` is the index
    among the visited children of the same parent; `parent` is an index into these arrays or -1; `declares` is the row,
    in the file's symbols, of the entity that the cursor declares, `uses` that of the one it references (-1: none);
    `flags` is a bit set, see the constants of this module.
    """

    kind: NDArray[np.uint16]
    start: NDArray[np.uint32]
    end: NDArray[np.uint32]
    depth: NDArray[np.uint16]
    sibling: NDArray[np.uint16]
    parent: NDArray[np.int32]
    declares: NDArray[np.int32]
    uses: NDArray[np.int32]
    flags: NDArray[np.uint8]


FLAG_DEFINITION = 1
"""The cursor is a definition."""
FLAG_OVERLOADED = 2
"""`uses` is one of several overload candidates (a dependent call)."""


class Symbol(NamedTuple):
    """A declared or referenced entity: USR hash, qualified name (`a::b::f`), CXCursorKind, spelling."""

    usr: int
    qualified_name: str
    kind: int
    spelling: str


@dataclass(frozen=True, slots=True, eq=False)
class Symbols:
    """The entities of a file as parallel columns, ascending by `usr`. Iteration yields `Symbol`s."""

    usr: NDArray[np.uint64]
    kind: NDArray[np.uint16]
    qualified_name: Sequence[str]
    spelling: Sequence[str]

    def __len__(self) -> int:
        return len(self.usr)

    def __iter__(self) -> Iterator[Symbol]:
        columns = (self.usr.tolist(), self.qualified_name, self.kind.tolist(), self.spelling)
        return starmap(Symbol, zip(*columns, strict=True))

    def usrs(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Return the USR hash of the entity in each of `rows`; 0 for -1."""
        return np.append(self.usr, np.uint64(0))[rows]

    def names(self, rows: NDArray[np.int32]) -> NDArray[np.object_]:
        """Return the qualified name of the entity in each of `rows`; "" for -1."""
        return np.array([*self.qualified_name, ""], dtype=np.object_)[rows]


NO_SYMBOLS = Symbols(np.empty(0, np.uint64), np.empty(0, np.uint16), (), ())


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The outcome of parsing one file as a main file.

    `status` is "clean" (no errors), "errors" (parsed, `errors` > 0) or "failed" (nothing usable; `reason` says why:
    crash, timeout, rejected arguments, unreadable include). `mode` is the source of its arguments: "database",
    "inferred" or "nearest". `includes` are repository-relative paths of the tree's files that it includes, sorted.
    `first_error` is libclang's message. `skipped_ranges` are byte ranges that the preprocessor dropped. `standard` is
    the language standard of its arguments, for example `gnu++17`, or "".
    """

    path: str
    status: str
    mode: str
    reason: str = ""
    errors: int = 0
    first_error: str = ""
    cursors: Cursors | None = None
    symbols: Symbols = NO_SYMBOLS
    includes: tuple[str, ...] = ()
    skipped_ranges: tuple[tuple[int, int], ...] = field(default=())
    standard: str = ""
