"""Values for the search for a document's context: the room that is left, chosen items and offered ones."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from megacpp_assets.semantic.documents.context.prices import Prices
from megacpp_assets.semantic.documents.items.items import Item

SEPARATOR_CHARS = 2
LONGEST_STAND_IN = 200
"""The maximum number of characters of a declaration that replaces a barred item."""
LONGEST_SIGNATURE = 400
"""The maximum number of characters of a function's declaration that is shown of a barred class."""
SHORT_CLASS = 200
"""The maximum number of characters of a class that is shown with all members where it must be complete."""
LONGEST_UNSEEN = 1000
"""The maximum number of characters of a class that is shown whole because the parser saw none of its members."""
HEAD, ALL = -3, -2
UNASKED = 16
"""Divides the worth of a use that only a body or further members explain, because a declaration explains it already."""
_NEEDED = 64
"""Multiplies the worth of a use without which a root is wrong."""
_FARTHER = 4
"""Divides the worth of context for each further edge between it and the roots."""
_UNNAMED = 1 / 64
"""The number of uses that is assumed for an item that no text names, such as one that a macro expands to."""


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
    """The maximum distance in edges from a root for declarations and bodies; whether direct callers are context."""

    declarations: int
    bodies: int
    callers: bool = False


@dataclass(slots=True)
class Context:
    """The chosen items. `whole` has the shown bodies of each item. `heads` are classes of which only the head is shown,
    or the head and some `members`, by number. `distance` counts edges from the nearest root, for roots too."""

    whole: dict[Item, frozenset[int]] = field(default_factory=dict)
    heads: set[Item] = field(default_factory=set)
    members: dict[Item, frozenset[int]] = field(default_factory=dict)
    distance: dict[Item, int] = field(default_factory=dict)

    def copy(self) -> Context:
        """Return a copy that changes independently."""
        return Context(self.whole.copy(), self.heads.copy(), self.members.copy(), self.distance.copy())

    def become(self, other: Context) -> None:
        """Replace the chosen items by those of `other`."""
        self.whole, self.heads, self.members, self.distance = other.whole, other.heads, other.members, other.distance


class Offer(NamedTuple):
    """A part of an item that may be shown: a member by its number, the shortest form (HEAD) or all members (ALL)."""

    item: Item
    number: int


class Closure(NamedTuple):
    """Items that are shown together or not at all, and the room that they need."""

    items: tuple[Item, ...]
    chars: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What may not be shown whole.

    A `barred` item is shown only as a short declaration, or as members of a class without bodies; a `sealed` one only
    as a signature or a head, or by one member if nothing shorter declares it; a `denied` one not even by that member.
    A document in C (`is_c`) shows no C++.
    """

    barred: AbstractSet[Item] = frozenset()
    sealed: AbstractSet[Item] = frozenset()
    denied: AbstractSet[Item] = frozenset()
    is_c: bool = False


@dataclass(slots=True)
class Growth:
    """The search for context at one distance, within a room and `limits` and at the corpus's prices.

    `is_needed` is true while the search adds items without which roots are wrong. `refused` has the closures for which
    there was no room. If `is_whole`, a trial that has no room for something fails the search itself. It is not frozen:
    each offer of context makes one, and a frozen one takes four times as long to make.
    """

    context: Context
    room: Room
    prices: Prices
    distance: int
    limits: Limits = field(default_factory=Limits)
    is_needed: bool = False
    refused: list[Closure] = field(default_factory=list)
    is_whole: bool = False

    def worth(self, uses: float, chars: int) -> float:
        """Return the worth of context that explains `uses` in `chars` characters. It decreases with the distance."""
        each = max(uses, _UNNAMED) / (chars + SEPARATOR_CHARS)
        return (each * _NEEDED if self.is_needed else each) / float(_FARTHER ** (self.distance - 1))

    def affordable_chars(self, uses: float) -> int:
        """Return the maximum number of characters in which context that explains `uses` is worth the price and fits."""
        least = self.prices.least
        most = int(self.worth(uses, 0) * SEPARATOR_CHARS / least) - SEPARATOR_CHARS if least else self.room.chars
        return max(0, min(self.room.chars, most))

    def declares(self, offer: Offer) -> bool:
        """Return whether an offer adds nothing: what it offers is shown, or the class of which it offers more is not
        shown by its head.
        """
        item, number = offer
        if number == HEAD:
            return item in self.context.distance
        return item not in self.context.heads or number in self.context.members.get(item, ())

    def take(self, closure: Closure) -> bool:
        """Reserve room for `closure` and return True, or record it as refused and return False."""
        if self.room.try_reserve(closure.chars, closure.chunks):
            return True
        self.refused.append(closure)
        return False

    def trial(self) -> Growth:
        """Return the same search on a copy of the context and the room."""
        refused = self.refused if self.is_whole else []
        room = Room(self.room.chars, self.room.chunks)
        # `replace`, called twice, takes four times as long, and each offer of context is a trial.
        return Growth(
            self.context.copy(), room, self.prices, self.distance, self.limits, self.is_needed, refused, self.is_whole
        )

    def whole_trial(self, chars: int) -> Growth:
        """Return a trial with room for `chars` in which nothing has a price of its own. Any refusal fails all of it."""
        room = Room(chars, self.room.chunks)
        return replace(self, context=self.context.copy(), room=room, prices=Prices(), refused=[], is_whole=True)

    def cost(self, trial: Growth) -> int:
        """Return the number of characters that `trial` reserved."""
        return self.room.chars - trial.room.chars

    def accept(self, trial: Growth, uses: float) -> bool:
        """Adopt `trial` if it had room for everything and if the `uses` that it explains are worth the price."""
        chars = self.cost(trial)
        worth = self.worth(uses, chars)
        if trial.refused or not self.prices.is_affordable(worth, chars):
            return False
        self.prices.take(worth, chars)
        self.room.chars, self.room.chunks = trial.room.chars, trial.room.chunks
        self.context.become(trial.context)
        return True
