"""The protocol of the graphs from which windows are built: the functions of a commit's tree, and their relations.

There are two graphs: v4 links by names (windows/graph.py), v5 by libclang's resolution (resolved/graph.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol


class DefinitionPlace(NamedTuple):
    """A function or class of the tree: the path of its file, and a number, whose meaning the graph defines."""

    path: str
    number: int


class DefinitionLines(NamedTuple):
    """The function or class at a place: the lines [first, end) of a blob, counted from 0, and a qualified name."""

    blob: str
    first: int
    end: int
    name: str


class Relation(NamedTuple):
    """The relation of a context to the target: the text of its heading, its chunk's kind and dependency level."""

    heading: str
    kind: str
    level: int


CALLER: Final = Relation("CALLED BY", "func_body", 2)
CALLEE: Final = Relation("CALLS", "func_body", 0)
BASE: Final = Relation("BASE OF ITS CLASS", "class_decl", 0)
TYPE: Final = Relation("USES TYPE", "class_decl", 0)
FAR_CALLER: Final = Relation("CALLED BY ITS CALLER'S CALLER", "func_body", 3)


class Edge(NamedTuple):
    """A place that is related to another one.

    `confidence` is "exact" if libclang resolved the reference, "overload" for one of several candidates, "name" for the
    only definition of a name. `line` is the line of the reference; for a caller, the first line of the caller. A far
    caller calls `through`.
    """

    place: DefinitionPlace
    confidence: str
    line: int
    relation: Relation
    through: DefinitionPlace | None = None


class Walk(NamedTuple):
    """Commits to follow, oldest first, and their objects.

    `left_out` counts the files above `most_bytes`, and blobs that the repository lacks, which are never fetched.
    """

    git_dir: Path
    commits: Sequence[str]
    most_bytes: int
    left_out: Counter[str]


class CodeGraph(Protocol):
    """The functions and classes of one tree at a time. Answers depend only on this tree and the questions."""

    def follow(self, walk: Walk) -> Iterator[None]:
        """Move to the tree of each commit of `walk` in turn. Raises the errors of `git`."""

    def read(self, changed: Mapping[str, str]) -> None:
        """Prepare `functions` of the files that the commit changed, path -> blob."""

    def functions(self, path: str, blob: str) -> Sequence[tuple[DefinitionPlace, DefinitionLines]] | None:
        """Return the functions of a file in order; None if the tree lacks the file or it could not be read."""

    def look_around(self, targets: Sequence[DefinitionPlace]) -> None:
        """Prepare `callers`, `callees` and `relatives` of `targets`."""

    def callers(self, place: DefinitionPlace) -> Sequence[Edge]:
        """Return the functions that call `place`, by path and number."""

    def callees(self, place: DefinitionPlace) -> Sequence[Edge]:
        """Return the functions that `place` calls, in the order of its calls, with repetitions."""

    def relatives(self, place: DefinitionPlace) -> Sequence[Edge]:
        """Return the bases of its class and the types that it uses, then the callers of its callers, nearest first."""

    def node(self, place: DefinitionPlace) -> DefinitionLines:
        """Return the function or class at a place that the graph returned."""
