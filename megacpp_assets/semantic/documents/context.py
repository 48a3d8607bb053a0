"""What a document brings along for its roots: nearest first, declarations before bodies, within a budget.

Breadth first over calls, types and variables. At each distance everything reached comes in its shortest form, the most
used first, with what that form names; then classes show their members and functions their bodies, as far as the recipe
lets them, where they fit with the declarations that they need.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from megacpp_assets.semantic.documents.items import Item, Items
from megacpp_assets.semantic.graph.repository import Repository

SEPARATOR_CHARS = 2
_LONGEST_STAND_IN = 200
"""Of a definition that is barred, a signature up to so many characters may stand in."""


@dataclass(slots=True)
class Room:
    """What context may take: characters and chunks."""

    chars: int
    chunks: int

    def takes(self, chars: int, chunks: int) -> bool:
        """Whether so much is left; if it is, it is taken."""
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
    """What was chosen: of each item the bodies shown; `heads`, classes of which the head alone is; `distance` of items,
    roots included, from the nearest root."""

    whole: dict[Item, set[int]] = field(default_factory=dict)
    heads: set[Item] = field(default_factory=set)
    distance: dict[Item, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Growth:
    """A context as it grows by one distance, within a room, and what may not be shown in it."""

    context: Context
    room: Room
    barred: AbstractSet[Item]
    distance: int


class Surroundings:
    """The surroundings of roots of one repository."""

    def __init__(self, repository: Repository, items: Items, reach: Reach) -> None:
        self._repository = repository
        self._items = items
        self._reach = reach

    def choose(self, roots: Collection[Item], room: Room, barred: AbstractSet[Item] = frozenset()) -> Context:
        """Context for `roots`, ranges of chunk numbers, within `room`. Of items that are `barred` a short signature may
        stand in, no more."""
        context = Context()
        context.distance |= {self._items.of[number]: 0 for root in roots for number in range(*root)}
        frontier = [number for root in roots for number in range(*root)]
        for distance in range(1, self._reach.declarations + 1):
            reached = self._reached(frontier)
            order = self._order(reached)
            growth = _Growth(context, room, barred, distance)
            fresh = self._declare(order, growth)
            fresh += self._settle(fresh, growth)
            for item in order:
                fresh += self._open_class(item, growth)
                if distance <= self._reach.bodies:
                    fresh += self._show_bodies(item, reached[item], growth)
            frontier = [number for item in dict.fromkeys(fresh) for number in self._leading(item, context)]
            if not frontier or room.chars <= 0 or room.chunks <= 0:
                break
        return context

    def _order(self, reached: Mapping[Item, Counter[int]]) -> list[Item]:
        """The most used first, then the lowest level."""
        return sorted(reached, key=lambda item: (-reached[item].total(), self._repository.unit_level(item), item))

    def _reached(self, frontier: Iterable[int]) -> Mapping[Item, Counter[int]]:
        """The chunks one edge away, by item, each as often as it is used; -1 - n stands for the signature of n."""
        reached: dict[Item, Counter[int]] = defaultdict(Counter)
        for number in frontier:
            for target in self._items.used(number) if number >= 0 else self._items.named(-1 - number):
                reached[self._items.of[target]][target] += 1
        return reached

    def _declare(self, order: Sequence[Item], growth: _Growth) -> list[Item]:
        """Take `order` as declarations, in the shortest form that there is; which of them is new."""
        fresh = []
        for item in order:
            holder = self._items.owner(item)
            for wanted in (holder, item) if holder is not None else (item,):
                if wanted not in growth.context.distance and self._fits(wanted, growth):
                    growth.context.distance[wanted] = growth.distance
                    growth.context.whole[wanted] = set()
                    growth.context.heads |= {wanted} if self._items.head_chars(wanted) else set()
                    fresh.append(wanted)
        return fresh

    def _settle(self, fresh: Sequence[Item], growth: _Growth) -> list[Item]:
        """Declare what is named by the parts of `fresh` that are shown, and what that names in turn: without it they
        would mean nothing."""
        found: list[Item] = []
        pending = list(fresh)
        while pending:
            reached = self._reached(number for item in pending for number in self._leading(item, growth.context))
            pending = self._declare(self._order(reached), growth)
            found += pending
        return found

    def _fits(self, item: Item, growth: _Growth) -> bool:
        head, chars = self._items.head_chars(item), self._least_chars(item)
        short = 0 < chars <= _LONGEST_STAND_IN and (head > 0 or bool(self._items.bodies(item)))
        if item in growth.barred and not short:
            return False
        return chars == 0 or growth.room.takes(chars + SEPARATOR_CHARS, 1 if head else item[1] - item[0])

    def _least_chars(self, item: Item) -> int:
        return self._items.head_chars(item) or self._items.declared_chars(item)

    def _open_class(self, item: Item, growth: _Growth) -> list[Item]:
        """Show the members of a class whose head stands there, if they and what they name fit; where to go on from."""
        if item not in growth.context.heads or item in growth.barred:
            return []
        more = self._items.declared_chars(item) - self._items.head_chars(item)
        if not self._take(more, item[1] - item[0] - 1, self._items.shown(item, ()), growth):
            return []
        growth.context.heads.discard(item)
        return [item, *self._settle([item], growth)]

    def _show_bodies(self, item: Item, used: Counter[int], growth: _Growth) -> list[Item]:
        """Show the bodies of `item` that are `used`, if they and what they name fit; gives where to go on."""
        fresh: list[Item] = []
        if item not in growth.context.whole or item in growth.barred or item in growth.context.heads:
            return fresh
        for number in (number for number in self._items.bodies(item) if used[number]):
            hidden = self._items.declared_chars(item) == 0
            cost = self._items.whole_chars(item) + SEPARATOR_CHARS if hidden else self._items.body_chars(number)
            if self._take(cost, int(hidden), [number], growth):
                growth.context.whole[item].add(number)
                fresh += [item, *self._settle([item], growth)]
        return fresh

    def _take(self, chars: int, chunks: int, shown: Sequence[int], growth: _Growth) -> bool:
        """Take room for text in which the chunks `shown` stand, if the declarations that they need fit as well."""
        used = {self._items.of[target] for number in shown for target in self._items.used(number)}
        needs = [item for item in used if item not in growth.context.distance]
        declared = sum(self._least_chars(item) + SEPARATOR_CHARS for item in needs)
        return chars + declared <= growth.room.chars and growth.room.takes(chars, chunks)

    def _leading(self, item: Item, context: Context) -> list[int]:
        """Chunks of `item` to go on from: those shown, and as -1 - number those whose signature alone is."""
        if item in context.heads:
            return [-1 - item[0]]
        shown = self._items.shown(item, context.whole[item])
        return [*shown, *(-1 - number for number in self._items.bodies(item) if number not in context.whole[item])]
