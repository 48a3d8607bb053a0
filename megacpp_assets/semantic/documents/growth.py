"""Values with which the context of a document grows: the room that is left, what was chosen, and what is offered."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from megacpp_assets.semantic.documents.items import Item
from megacpp_assets.semantic.documents.prices import Prices

SEPARATOR_CHARS = 2
LONGEST_STAND_IN = 200
"""Of what is barred, a declaration up to so many characters may stand in."""
SHORT_CLASS = 200
"""A class of up to so many characters is shown with all members where it has to be complete."""
HEAD, ALL = -3, -2
UNASKED = 16
"""A use is worth one part in so many where the text of a body or of further members explains it, since a declaration
does already."""
_NEEDED = 64
"""The uses that a use counts for where a root is wrong without it."""
_FARTHER = 4
"""With each edge from the roots, context is worth one part in so many."""
_UNNAMED = 1 / 64
"""The uses that what no text names counts for, as what a macro expands to does."""


@dataclass(slots=True)
class Room:
    """The characters and chunks that are left for context."""

    chars: int
    chunks: int

    def try_reserve(self, chars: int, chunks: int) -> bool:
        """Reserve that much and return True, or return False if it is not left."""
        if chars > self.chars or chunks > self.chunks:
            return False
        self.chars -= chars
        self.chunks -= chunks
        return True


@dataclass(frozen=True, slots=True)
class Reach:
    """How many edges from a root declarations and bodies may come from, and whether direct callers of a root come."""

    declarations: int
    bodies: int
    callers: bool = False


@dataclass(slots=True)
class Context:
    """What was chosen: of each item the bodies shown; `heads`, classes of which the head alone is, or the head and some
    `members`, by number; `distance` of items, roots included, from the nearest root."""

    whole: dict[Item, frozenset[int]] = field(default_factory=dict)
    heads: set[Item] = field(default_factory=set)
    members: dict[Item, frozenset[int]] = field(default_factory=dict)
    distance: dict[Item, int] = field(default_factory=dict)

    def copy(self) -> Context:
        """A context that grows by itself."""
        return Context(self.whole.copy(), self.heads.copy(), self.members.copy(), self.distance.copy())

    def become(self, other: Context) -> None:
        """Take over what `other` chose."""
        self.whole, self.heads, self.members, self.distance = other.whole, other.heads, other.members, other.distance


class Offer(NamedTuple):
    """What may be shown of an item: a member by its number, its shortest form (HEAD) or all members (ALL)."""

    item: Item
    number: int


class Closure(NamedTuple):
    """Items that come together or not at all, and what they take."""

    items: tuple[Item, ...]
    chars: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Growth:
    """A context as it grows by one distance, within a room and at the corpus's prices, and what may not be shown in it.

    `is_needed`: it grows by what roots are wrong without. Of what is `sealed`, not more than a signature or a head is
    shown. `refused` is what there was no room for.
    """

    context: Context
    room: Room
    barred: AbstractSet[Item]
    prices: Prices
    distance: int
    is_needed: bool = False
    sealed: AbstractSet[Item] = frozenset()
    refused: list[Closure] = field(default_factory=list)

    def worth(self, uses: float, chars: int) -> float:
        """What context is worth that explains `uses` in `chars`: less with each edge that it is further from roots."""
        each = max(uses, _UNNAMED) / (chars + SEPARATOR_CHARS)
        return (each * _NEEDED if self.is_needed else each) / float(_FARTHER ** (self.distance - 1))

    def take(self, closure: Closure) -> bool:
        """Reserve room for `closure`."""
        if self.room.try_reserve(closure.chars, closure.chunks):
            return True
        self.refused.append(closure)
        return False

    def trial(self) -> Growth:
        """The same growth on a copy of its context and room."""
        return replace(self, context=self.context.copy(), room=replace(self.room), refused=[])

    def cost(self, trial: Growth) -> int:
        """The characters that a `trial` took."""
        return self.room.chars - trial.room.chars

    def accept(self, trial: Growth, uses: float) -> bool:
        """Grow as a `trial` did if it had room for all, and if the `uses` that it explains are worth the price."""
        chars = self.cost(trial)
        worth = self.worth(uses, chars)
        if trial.refused or not self.prices.is_affordable(worth, chars):
            return False
        self.prices.take(worth, chars)
        self.room.chars, self.room.chunks = trial.room.chars, trial.room.chunks
        self.context.become(trial.context)
        return True
