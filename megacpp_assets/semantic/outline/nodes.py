"""The outline of a file: its declarations as nested byte ranges with a role.

libclang's cursors give the nodes of parsed text. tree-sitter gives those of text that the preprocessor dropped or that
was not parsed.
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
    """The kind of a declaration."""

    NAMESPACE = 0
    CLASS = 1
    FUNCTION = 2
    """A function with a body."""
    PROTOTYPE = 3
    MEMBER = 4
    """A field, enumerator, method without a body, friend or static assertion in a class."""
    TYPEDEF = 5
    USING = 6
    VARIABLE = 7
    OTHER = 8
    BODY = 9
    """The body of a function. It gets a category but no chunk of its own."""


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
"""CATEGORIES.md has the rules with examples."""


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
    """Nodes as parallel columns, because a file has thousands of them. Indexing and iteration return `Node`s."""

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
        """Return the columns of `nodes`."""
        columns = list(zip(*nodes, strict=True)) or [()] * len(_DTYPES)
        return cls(*(np.array(column, dtype=dtype) for column, dtype in zip(columns, _DTYPES, strict=True)))

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> Outline:
        """Return the nodes with these indices, or the marked ones."""
        return Outline(*(column[chosen] for column in self._columns()))

    def joined(self, other: Outline) -> Outline:
        """Return the nodes of this outline followed by those of the other one."""
        return Outline(*map(np.concatenate, zip(self._columns(), other._columns(), strict=True)))

    def in_order(self) -> Outline:
        """Return the nodes in pre-order: by start, an enclosing node before those inside.

        Equal ones keep their order.
        """
        return self.take(np.lexsort((self.depth, -self.end, self.start)))

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.start, self.end, self.role, self.depth, self.name, self.usr, self.definition, self.kind


_ROLES = tuple(Role)
_DTYPES = (np.int64, np.int64, np.uint8, np.int64, np.object_, np.uint64, np.bool_, np.uint16)
EMPTY = Outline.of(())
