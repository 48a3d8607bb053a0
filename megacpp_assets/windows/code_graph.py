"""What the window builder asks of a graph: the functions of a commit's tree, and what stands around one of them.

Two graphs answer: v4's knows names (windows/graph.py), v5's the compiler's own resolution (resolved/graph.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol


class Place(NamedTuple):
    """A function or a class of the tree: the path of its file, and a number of the graph's own, which orders a file."""

    path: str
    number: int


class Node(NamedTuple):
    """What stands at a place: the lines [first, end), counted from 0, of a blob, and a qualified name."""

    blob: str
    first: int
    end: int
    name: str


class Relation(NamedTuple):
    """How a context is related to the target: the words of its heading, its chunk's kind and dependency level."""

    heading: str
    kind: str
    level: int


CALLER: Final = Relation("CALLED BY", "func_body", 2)
CALLEE: Final = Relation("CALLS", "func_body", 0)
BASE: Final = Relation("BASE OF ITS CLASS", "class_decl", 0)
TYPE: Final = Relation("USES TYPE", "class_decl", 0)
FAR_CALLER: Final = Relation("CALLED BY ITS CALLER'S CALLER", "func_body", 3)


class Edge(NamedTuple):
    """A place beside another one. `confidence` is "exact" for what a compiler resolved, "overload" for one of several,
    "name" for the only definition of a name.

    `line` is where the reference stands; of a caller, where the caller begins. A far caller calls `through`.
    """

    place: Place
    confidence: str
    line: int
    relation: Relation
    through: Place | None = None


class Walk(NamedTuple):
    """Commits to follow, oldest first, and their objects.

    `left_out` counts the files above `most_bytes`, and blobs that the repository lacks, which are never fetched.
    """

    git_dir: Path
    commits: Sequence[str]
    most_bytes: int
    left_out: Counter[str]


class CodeGraph(Protocol):
    """The functions and classes of one tree at a time. Every answer depends on that tree and the questions alone."""

    def follow(self, walk: Walk) -> Iterator[None]:
        """Stand at the tree of each commit of `walk` in turn. Raises the errors of `git`."""

    def read(self, changed: Mapping[str, str]) -> None:
        """Prepare `functions` of the files that the commit changed, path -> blob."""

    def functions(self, path: str, blob: str) -> Sequence[tuple[Place, Node]] | None:
        """The functions of a file in order; None where the tree has no such file, or nothing is known of it."""

    def look_around(self, targets: Sequence[Place]) -> None:
        """Prepare `callers`, `callees` and `relatives` of `targets`."""

    def callers(self, place: Place) -> Sequence[Edge]:
        """The functions that call `place`, by path and number."""

    def callees(self, place: Place) -> Sequence[Edge]:
        """The functions that `place` calls, in the order of its calls; one that it calls twice comes twice."""

    def relatives(self, place: Place) -> Sequence[Edge]:
        """The bases of its class and the types that it uses, then the callers of its callers, nearest first."""

    def node(self, place: Place) -> Node:
        """What stands at a place that the graph named."""
