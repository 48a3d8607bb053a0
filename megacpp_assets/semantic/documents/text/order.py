"""An order of the pieces of a document that a compiler would take: what is used stands before what uses it.

Where that leaves a choice, a file goes on as it stands, then a namespace, and what is far from the roots comes first.
Where pieces use each other in a circle, one comes first and what it lacks is declared ahead of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from megacpp_assets.semantic.documents.items.items import Item
from megacpp_assets.semantic.documents.text.scopes import Scope
from megacpp_assets.semantic.graph.spaces import Span

_EARLY = ("preamble", "typedef", "class_decl", "func_sig")
"""In a circle, these kinds come first."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A root or an item in a document, `distance` edges from a root.

    `whole` are the chunks whose bodies are shown; `head`: no more of a class than its head is, and its `members`, by
    number. `holder` is the class that it is defined outside of, `ahead` the text that can declare it before it stands
    there, and `is_ahead`: no more than that is shown.
    """

    item: Item
    file: int
    span: Span
    whole: frozenset[int]
    head: bool
    members: tuple[int, ...]
    distance: int
    scopes: tuple[Scope, ...]
    names: tuple[str, ...]
    """Its namespaces and conditions as names."""
    holder: Item | None
    kind: str
    ahead: str
    is_ahead: bool = False
    opened: tuple[Span, ...] = ()
    closing: str = ""
    """Of a part of a root: what opens the blocks that it lies in, and what closes those that it leaves open."""

    @property
    def is_root(self) -> bool:
        """Whether the document was made for it."""
        return self.distance == 0


def ordered(
    pieces: Sequence[Piece], needs: Sequence[AbstractSet[int]], whole: Sequence[AbstractSet[int]] | None = None
) -> list[Piece]:
    """`pieces` with those before each that it `needs`, by number; in a circle, declarations of what comes later.

    `whole`: of what each needs those of which a declaration is not enough, as of the bases of a class.
    """
    lacks = [set(needed) for needed in needs]
    whole = whole or [set[int]() for _ in pieces]
    left = set(range(len(pieces)))
    declared: set[int] = set()
    result: list[Piece] = []
    while left:
        last = result[-1] if result else None
        ready = [number for number in left if not lacks[number]]
        if ready:
            best = min(ready, key=lambda number: _next(pieces[number], last))
        else:
            circle = _circle(lacks, min(left))
            enough = {number for number in circle if whole[number].isdisjoint(left)}
            best = _first_of(enough or circle, pieces, lacks)
            ahead = sorted(number for number in lacks[best] - declared if pieces[number].ahead)
            result += [replace(pieces[number], is_ahead=True) for number in ahead]
            declared.update(ahead)
        result.append(pieces[best])
        left.discard(best)
        for lacking in lacks:
            lacking.discard(best)
    return result


def _next(piece: Piece, last: Piece | None) -> tuple[bool, bool, int, int, int]:
    goes_on = last is not None and piece.file == last.file and piece.span.start > last.span.start
    stays = last is not None and piece.names == last.names
    as_in_file = goes_on and piece.is_root
    return (
        not (as_in_file or (goes_on and stays)),
        not (as_in_file or stays),
        -piece.distance,
        piece.file,
        piece.span.start,
    )


def _circle(lacks: Sequence[AbstractSet[int]], start: int) -> set[int]:
    """Pieces, reached from `start`, that all need each other and nothing else."""
    while True:
        ahead = _reached(lacks, start)
        users: dict[int, set[int]] = defaultdict(set)
        for number in ahead:
            for needed in lacks[number]:
                users[needed].add(number)
        circle = _reached(users, start)
        if len(circle) == len(ahead):
            return circle
        start = min(ahead - circle)


def _reached(edges: Mapping[int, AbstractSet[int]] | Sequence[AbstractSet[int]], start: int) -> set[int]:
    seen, pending = {start}, [start]
    while pending:
        fresh = edges[pending.pop()] - seen
        seen |= fresh
        pending += fresh
    return seen


def _first_of(circle: AbstractSet[int], pieces: Sequence[Piece], lacks: Sequence[AbstractSet[int]]) -> int:
    """Of a circle the piece that lacks least of what can neither be declared ahead nor is found in its class."""

    def key(number: int) -> tuple[int, int, int, int, int, int]:
        piece = pieces[number]
        unknown = sum(not pieces[each].ahead and pieces[each].holder is None for each in lacks[number])
        rank = _EARLY.index(piece.kind) if piece.kind in _EARLY else len(_EARLY)
        return unknown, rank, len(lacks[number]), -piece.distance, piece.file, piece.span.start

    return min(circle, key=key)
