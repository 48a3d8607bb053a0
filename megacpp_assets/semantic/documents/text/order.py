"""Orders the pieces of a document as a compiler accepts them: a piece comes before the pieces that use it.

If several orders are possible, the order of the file comes first, then pieces of the same namespace, then pieces that
are far from the roots. If pieces use each other in a circle, one comes first, and the names that it lacks are declared
before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from megacpp_assets.semantic.documents.items.items import Item
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.text.fragments import Fragment
from megacpp_assets.semantic.documents.text.scopes import Scope
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Span

_EARLY = ("preamble", "typedef", "class_decl", "func_sig")
"""In a circle, these kinds come first."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A root or an item in a document, `distance` edges from a root.

    `whole` are the chunks whose bodies are shown. `head` is true if only the head of a class and its `members`, by
    number, are shown. `holder` is the class outside of which the item is defined. `ahead` is the text that can declare
    the item before its own place, and `is_ahead` is true if only this text is shown.
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
    """For a part of a root: the text that opens the blocks around it, and the text that closes the blocks that it
    leaves open.
    """
    fragments: tuple[Fragment, ...] = ()
    """The texts that it includes within its braces, in order."""

    @property
    def is_root(self) -> bool:
        """Whether the document was made for it."""
        return self.distance == 0


class FileOrder:
    """The order of the files of one repository: what a file includes comes before its own text."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._numbers = {facts.source.path: number for number, facts in enumerate(repository.files)}
        self.included = recent(self._included_by)
        """The numbers of the files that a file includes."""

    def is_above(self, upper: Piece, lower: Piece) -> bool:
        """Return whether `upper` comes before `lower`: it is above in their file, or in a file that the other's
        includes."""
        if upper.file == lower.file:
            return upper.span.start < lower.span.start
        return upper.file in self.included(lower.file)

    def _included_by(self, file: int) -> AbstractSet[int]:
        paths = self._repository.files[file].parsed.includes
        return {self._numbers[path] for path in paths if path in self._numbers}


def _is_above_in_file(upper: Piece, lower: Piece) -> bool:
    return upper.file == lower.file and upper.span.start < lower.span.start


def ordered(
    pieces: Sequence[Piece],
    needs: Sequence[AbstractSet[int]],
    whole: Sequence[AbstractSet[int]] | None = None,
    is_above: Callable[[Piece, Piece], bool] = _is_above_in_file,
) -> list[Piece]:
    """Return `pieces`, each after those that it `needs`, by number. In a circle, declarations of later pieces come
    first.

    `whole` has, for each piece, those needed pieces of which a declaration is not enough, such as the bases of a class.
    `is_above` says whether the first of two pieces comes before the second where both are compiled.
    """
    lacks = [set(needed) for needed in needs]
    whole = whole or [set[int]() for _ in pieces]
    users: list[list[int]] = [[] for _ in pieces]
    for number, needed in enumerate(needs):
        for each in needed:
            users[each].append(number)
    left = set(range(len(pieces)))
    ready = {number for number in left if not lacks[number]}
    declared: set[int] = set()
    result: list[Piece] = []
    while left:
        last = result[-1] if result else None
        if ready:
            best = min(ready, key=lambda number: (_next(pieces[number], last), number))
        else:
            circle = _circle(lacks, min(left))
            enough = {number for number in circle if whole[number].isdisjoint(left)}
            as_in_file = {
                number for number in circle if not any(is_above(pieces[each], pieces[number]) for each in lacks[number])
            }
            best = _first_of(enough & as_in_file or as_in_file or enough or circle, pieces, lacks)
            ahead = sorted(number for number in lacks[best] - declared if pieces[number].ahead)
            result += [replace(pieces[number], is_ahead=True) for number in ahead]
            declared.update(ahead)
        result.append(pieces[best])
        left.discard(best)
        ready.discard(best)
        for user in users[best]:
            lacks[user].discard(best)
        ready.update(user for user in users[best] if user in left and not lacks[user])
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
    """Return pieces, reached from `start`, that all need each other and nothing else."""
    while True:
        ahead = reached(lacks, start)
        users: dict[int, set[int]] = defaultdict(set)
        for number in ahead:
            for needed in lacks[number]:
                users[needed].add(number)
        circle = reached(users, start)
        if len(circle) == len(ahead):
            return circle
        start = min(ahead - circle)


def reached(edges: Mapping[int, AbstractSet[int]] | Sequence[AbstractSet[int]], start: int) -> set[int]:
    """Return `start`, and what its edges and those of what they reach lead to."""
    seen, pending = {start}, [start]
    while pending:
        fresh = edges[pending.pop()] - seen
        seen |= fresh
        pending += fresh
    return seen


def _first_of(circle: AbstractSet[int], pieces: Sequence[Piece], lacks: Sequence[AbstractSet[int]]) -> int:
    """Return the piece of a circle that needs the fewest pieces which can neither be declared first nor be found in its
    class.
    """

    def key(number: int) -> tuple[int, int, int, int, int, int]:
        piece = pieces[number]
        unknown = sum(not pieces[each].ahead and pieces[each].holder is None for each in lacks[number])
        rank = _EARLY.index(piece.kind) if piece.kind in _EARLY else len(_EARLY)
        return unknown, rank, len(lacks[number]), -piece.distance, piece.file, piece.span.start

    return min(circle, key=key)
