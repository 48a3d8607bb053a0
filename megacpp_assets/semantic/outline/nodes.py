"""The outline of a file: its declarations as nested byte ranges with a role, whoever found them.

libclang's cursors give it where the file parsed; tree-sitter fills what the preprocessor dropped or no parse reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.names import CATEGORY_ID


class Role(IntEnum):
    """What a declaration is."""

    NAMESPACE = 0
    CLASS = 1
    FUNCTION = 2
    """Has a body."""
    PROTOTYPE = 3
    MEMBER = 4
    """In a class: field, enumerator, method without a body, friend, static assertion."""
    TYPEDEF = 5
    USING = 6
    VARIABLE = 7
    OTHER = 8
    BODY = 9
    """Of a function; only painted."""


CATEGORY_OF_ROLE = {
    Role.NAMESPACE: CATEGORY_ID["namespace"],
    Role.CLASS: CATEGORY_ID["class_decl"],
    Role.FUNCTION: CATEGORY_ID["func_sig"],
    Role.PROTOTYPE: CATEGORY_ID["func_sig"],
    Role.MEMBER: CATEGORY_ID["class_member"],
    Role.TYPEDEF: CATEGORY_ID["typedef"],
    Role.USING: CATEGORY_ID["preamble"],
    Role.VARIABLE: CATEGORY_ID["other"],
    Role.OTHER: CATEGORY_ID["other"],
    Role.BODY: CATEGORY_ID["func_body"],
}
"""The written rules, with examples, are in CATEGORIES.md."""


class Node(NamedTuple):
    """A declaration: byte range, role, nesting depth (0 is outermost), qualified name, USR hash (0: none)."""

    start: int
    end: int
    role: Role
    depth: int
    name: str
    usr: int = 0
    definition: bool = False
    kind: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """Nodes as parallel columns, as a file has thousands of them; an index or an iteration gives them as `Node`s."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    role: NDArray[np.uint8]
    depth: NDArray[np.int64]
    name: NDArray[np.object_]
    usr: NDArray[np.uint64]
    definition: NDArray[np.bool_]
    kind: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, number: int) -> Node:
        start, end, role, depth, name, usr, definition, kind = (column[number] for column in self._columns())
        return Node(int(start), int(end), _ROLES[role], int(depth), name, int(usr), bool(definition), int(kind))

    def __iter__(self) -> Iterator[Node]:
        start, end, role, *rest = (column.tolist() for column in self._columns())
        return map(Node, start, end, map(_ROLES.__getitem__, role), *rest)

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> Outline:
        """The columns of `nodes`."""
        columns = list(zip(*nodes, strict=True)) or [()] * len(_DTYPES)
        return cls(*(np.array(column, dtype=dtype) for column, dtype in zip(columns, _DTYPES, strict=True)))

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> Outline:
        """The nodes at these places, or those marked."""
        return Outline(*(column[chosen] for column in self._columns()))

    def joined(self, other: Outline) -> Outline:
        """The nodes of this outline and, behind them, those of the other one."""
        return Outline(*map(np.concatenate, zip(self._columns(), other._columns(), strict=True)))

    def in_order(self) -> Outline:
        """In pre-order: by start, an enclosing one before what it encloses; equal ones stay as they stand."""
        return self.take(np.lexsort((self.depth, -self.end, self.start)))

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.start, self.end, self.role, self.depth, self.name, self.usr, self.definition, self.kind


_ROLES = tuple(Role)
_DTYPES = (np.int64, np.int64, np.uint8, np.int64, np.object_, np.uint64, np.bool_, np.uint16)
EMPTY = Outline.of(())
