"""Values with which the context of a document grows: the room that is left, what was chosen, and what is offered."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from megacpp_assets.semantic.documents.items import Item

SEPARATOR_CHARS = 2
LONGEST_STAND_IN = 200
"""Of a definition that is barred, a signature up to so many characters may stand in."""
SHORT_CLASS = 200
"""A class of up to so many characters is shown with all members where it has to be complete."""
HEAD, ALL = -3, -2


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
    """How many edges from a root declarations and bodies may come from."""

    declarations: int
    bodies: int


@dataclass(slots=True)
class Context:
    """What was chosen: of each item the bodies shown; `heads`, classes of which the head alone is, or the head and some
    `members`, by number; `distance` of items, roots included, from the nearest root."""

    whole: dict[Item, set[int]] = field(default_factory=dict)
    heads: set[Item] = field(default_factory=set)
    members: dict[Item, set[int]] = field(default_factory=dict)
    distance: dict[Item, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Growth:
    """A context as it grows by one distance, within a room, and what may not be shown in it."""

    context: Context
    room: Room
    barred: AbstractSet[Item]
    distance: int


class Offer(NamedTuple):
    """What may be shown of an item: a member by its number, its shortest form (HEAD) or all members (ALL)."""

    item: Item
    number: int


class Closure(NamedTuple):
    """Items that come together or not at all, and what they take."""

    items: tuple[Item, ...]
    chars: int
    chunks: int
