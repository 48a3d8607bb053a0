"""The outline of a file: its declarations as nested byte ranges with a role, whoever found them.

libclang's cursors give it where the file parsed; tree-sitter fills what the preprocessor dropped or no parse reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

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


NAMESPACE, CLASS, FUNCTION, PROTOTYPE, MEMBER, TYPEDEF, USING, VARIABLE, OTHER, BODY = Role
"""The roles under names of their own, for loops over nodes: to ask an enumeration for a member is a call."""

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
    """A declaration: byte range, role, nesting depth (0 is outermost), qualified name, USR hash (0: none).

    A tuple, as a file has hundreds of them: they are made, and made anew, in a third of a dataclass's time.
    """

    start: int
    end: int
    role: Role
    depth: int
    name: str
    usr: int = 0
    definition: bool = False
    kind: int = 0


_PLACE = tuple(Node._fields.index(name) for name in ("start", "end", "depth"))


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """`nodes` in pre-order: by start, an enclosing one before what it encloses; equal ones stay as they stand."""
    starts, ends, depths = (np.array([node[field] for node in nodes], dtype=np.int64) for field in _PLACE)
    return [nodes[index] for index in np.lexsort((depths, -ends, starts)).tolist()]


Outline = Sequence[Node]
"""In pre-order: by start, an enclosing node before what it encloses."""
