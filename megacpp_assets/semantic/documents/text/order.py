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
from heapq import heappop, heappush

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
    ready = _Ready(pieces)
    for number in left:
        if not lacks[number]:
            ready.add(number)
    declared: set[int] = set()
    result: list[Piece] = []
    while left:
        best = ready.pop_next(result[-1] if result else None)
        if best is None:
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
        for user in users[best]:
            lacks[user].discard(best)
            if user in left and not lacks[user]:
                ready.add(user)
    return result


class _Ready:
    """The pieces that may come next, by number: first those that go on below the last one, then those of the same
    scopes, then those far from the roots, in the order of their files.
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._order = sorted(range(len(pieces)), key=lambda number: (*_place(pieces[number]), number))
        self._ranks = [0] * len(pieces)
        for rank, number in enumerate(self._order):
            self._ranks[number] = rank
        self._left: set[int] = set()
        """Their ranks in that order."""
        self._all: list[int] = []
        self._by_names: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._by_file: dict[int, set[int]] = defaultdict(set)

    def add(self, number: int) -> None:
        """Add a piece."""
        piece, rank = self._pieces[number], self._ranks[number]
        self._left.add(rank)
        heappush(self._all, rank)
        heappush(self._by_names[piece.names], rank)
        self._by_file[piece.file].add(rank)

    def pop_next(self, last: Piece | None) -> int | None:
        """Remove the piece that comes behind `last` and return it; None if there is no piece."""
        if not self._left:
            return None
        rank = None if last is None else self._below(last)
        if rank is None and last is not None:
            rank = self._first(self._by_names[last.names])
        if rank is None:
            rank = self._first(self._all)
        number = self._order[rank or 0]
        self._left.discard(self._ranks[number])
        self._by_file[self._pieces[number].file].discard(self._ranks[number])
        return number

    def _below(self, last: Piece) -> int | None:
        """Return the first that is below `last` in its file, in the same scopes or a root."""
        found = ((rank, self._pieces[self._order[rank]]) for rank in self._by_file[last.file])
        goes_on = (
            rank
            for rank, piece in found
            if piece.span.start > last.span.start and (piece.distance == 0 or piece.names == last.names)
        )
        return min(goes_on, default=None)

    def _first(self, ranks: list[int]) -> int | None:
        """Return the first of the heap `ranks` that is left."""
        while ranks and ranks[0] not in self._left:
            heappop(ranks)
        return ranks[0] if ranks else None


def _place(piece: Piece) -> tuple[int, int, int]:
    return -piece.distance, piece.file, piece.span.start


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
