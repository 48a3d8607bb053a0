"""Values of the search for a document's context: the room that is left, its limits, and what was chosen."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from megacpp_assets.semantic.documents.items.items import Item

SEPARATOR_CHARS = 2
LONGEST_STAND_IN = 200
"""The maximum number of characters of a declaration that replaces a barred item."""
ALL = -2
"""In place of a member's number: all members of a class."""
_COMPLETES = 32
"""The number of uses that it is worth that a document lacks nothing which its roots need."""
_NEEDED = 64
"""Multiplies the worth of a use without which a root is wrong."""


def completion_worth(chars: int) -> float:
    """Return the worth of `chars` characters of context with which a document lacks nothing that its roots need."""
    return _COMPLETES / (chars + SEPARATOR_CHARS) * _NEEDED


class Room(NamedTuple):
    """The characters and chunks that are left for context."""

    chars: int
    chunks: int


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


class Offer(NamedTuple):
    """A member of a class by its number, or all of its members (ALL)."""

    item: Item
    number: int


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
