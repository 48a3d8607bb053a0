"""What one parse yields, before it has any meaning: cursors of the main file as parallel arrays, and symbol names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Cursors:
    """Cursors of the main file in pre-order, one element each. Offsets are bytes into the file, half-open.

    `kind` is libclang's CXCursorKind; `depth` counts from 1 at the translation unit's children; `sibling` is the index
    among the visited children of the same parent; `parent` is an index into these arrays or -1; `usr` is the 64-bit
    hash of the USR of the entity that the cursor declares (0: none); `ref` that of the entity it references (0: none);
    `flags` is a bit set, see the constants of this module.
    """

    kind: NDArray[np.uint16]
    start: NDArray[np.uint32]
    end: NDArray[np.uint32]
    depth: NDArray[np.uint16]
    sibling: NDArray[np.uint16]
    parent: NDArray[np.int32]
    usr: NDArray[np.uint64]
    ref: NDArray[np.uint64]
    flags: NDArray[np.uint8]


FLAG_DEFINITION = 1
"""The cursor is a definition."""
FLAG_MACRO_RANGE = 2
"""The cursor lies in a macro expansion; its range is the invocation's."""
FLAG_OVERLOADED = 4
"""`ref` is one of several overload candidates (a dependent call)."""


class Symbol(NamedTuple):
    """An entity seen as declared or referenced: USR hash, qualified name (`a::b::f`), CXCursorKind, spelling.

    A tuple, as a file has hundreds of them: they are made in a third of a dataclass's time.
    """

    usr: int
    qualified_name: str
    kind: int
    spelling: str


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The outcome of parsing one file as a main file.

    `status` is "clean" (no errors), "errors" (parsed, `errors` > 0) or "failed" (nothing usable; `reason` says why:
    crash, timeout, rejected arguments, unreadable include). `mode` is where its arguments came from: "database",
    "inferred" or "nearest". `includes` are repository-relative paths of the tree's files it includes, sorted.
    `skipped_ranges` are byte ranges that the preprocessor dropped.
    """

    path: str
    status: str
    mode: str
    reason: str = ""
    errors: int = 0
    cursors: Cursors | None = None
    symbols: tuple[Symbol, ...] = ()
    includes: tuple[str, ...] = ()
    skipped_ranges: tuple[tuple[int, int], ...] = field(default=())
