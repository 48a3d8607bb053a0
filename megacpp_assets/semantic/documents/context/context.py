"""Chooses the context of a document: nearest first, declarations before bodies, within a budget.

The search is breadth first over calls, types and variables. At each distance, everything that is reached is shown in
its shortest form. The code with the most uses for its length comes first. It is shown with everything that this form
names, or not at all. Classes are shown with the members that the roots use. Then classes show all their members and
functions their bodies, up to the recipe's distance. They are shown only if they fit with the declarations that they
need, and if they are worth the price of the repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush

from megacpp_assets.semantic.documents.context.growth import (
    ALL,
    HEAD,
    LONGEST_STAND_IN,
    SEPARATOR_CHARS,
    UNASKED,
    Context,
    Growth,
    Limits,
    Offer,
    Reach,
    Room,
)
from megacpp_assets.semantic.documents.context.needs import Needs
from megacpp_assets.semantic.documents.context.passages import Passage
from megacpp_assets.semantic.documents.context.prices import Prices
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import Members
from megacpp_assets.semantic.documents.items.mentions import Mentions
from megacpp_assets.semantic.graph.repository import Repository

_COMPLETES = 32
"""The number of uses that it is worth that a document lacks nothing which its roots need."""
_LONGEST_NAMING = 120
"""The maximum number of characters of a declaration that comes first, with what it needs."""


class Surroundings:
    """Chooses the context of roots of one repository."""

    def __init__(
        self, repository: Repository, items: Items, members: Members, mentions: Mentions, reach: Reach
    ) -> None:
        self._repository = repository
        self._items = items
        self._members = members
        self._reach = reach
        self._needs = Needs(repository, items, members, mentions)
        self._reaching, self._shown = self._needs.reaching, self._needs.shown
        self._permissions = self._shown.permissions
        self._passages = self._needs.passages
        self.used = self._passages.used
        """The entities that a passage names and does not declare, each with how often."""

    def choose(self, roots: Collection[Passage], room: Room, prices: Prices, limits: Limits) -> Context:
        """Return the context of `roots` within `room` and `limits` and at `prices`.

        It has first the items without which roots are wrong: the classes of methods, base classes, macros. Then come
        the items that they use.
        """
        context = Context()
        context.distance |= {self._items.of[number]: 0 for root in roots for number in range(*root.unit)}
        self._open_parts(roots, context)
        reached = self._reaching.targeted(each for root in roots for each in self._passages.targets(root))
        wanted = self._wanted(roots)
        macros = self._short_macros(reached)
        room.chars -= sum(macros.values())
        first = Growth(context, room, prices, 1, limits, is_needed=True)
        prices.begin()
        needed = self._declare(reached, first)
        needed += self._needs.show_needed(roots, first)
        needed += self._needs.show_callers(roots, first) if self._reach.callers else []
        _release(macros, first)
        for distance in range(1, self._reach.declarations + 1):
            growth = Growth(context, room, prices, distance, limits)
            fresh = needed if distance == 1 else []
            direct = replace(growth, is_needed=distance == 1)
            fresh += self._show_cheapest(reached, wanted if distance == 1 else {}, direct, macros)
            if distance == 1:
                fresh += self._complete(roots, reached, wanted, direct)
                _release(macros, direct)
            for item in tuple(macros):
                room.chars += (chars := macros.pop(item))
                self._shown.show_macro_alone(item, chars, direct, reached[item].total())
            for item in self._reaching.order(reached):
                fresh += self._open_class(item, reached[item].total(), growth)
                if distance <= self._reach.bodies:
                    fresh += self._needs.show_bodies(item, reached[item], growth)
            frontier = [number for item in dict.fromkeys(fresh) for number in self._reaching.leading(item, context)]
            if not frontier or room.chars <= 0 or room.chunks <= 0:
                break
            reached = self._reaching.reached(frontier)
        self._permissions.show_partial(roots, first)
        return context

    def _open_parts(self, roots: Iterable[Passage], context: Context) -> None:
        """Show of the class that a part of it stands in the members of the part, so that others may be added."""
        for root in roots:
            item = self._items.of[root.unit[0]]
            if root.is_part and (shown := self._members.shown_in_part(item, root.begun, root.end)):
                context.heads.add(item)
                context.members[item] = shown

    def _declare(self, reached: Mapping[Item, Counter[int]], growth: Growth) -> list[Item]:
        """Declare what is `reached` if a short declaration is enough, before long macros take the room."""
        fresh: list[Item] = []
        for item in self._reaching.order(reached):
            if self._reaching.least_chars(item) > _LONGEST_NAMING and self._items.stand_in(item) == item:
                continue
            trial = growth.trial()
            found = self._shown.show(Offer(item, HEAD), trial)
            if growth.cost(trial) <= _LONGEST_NAMING:
                fresh += found if growth.accept(trial, reached[item].total()) else []
        return fresh

    def _wanted(self, roots: Iterable[Passage]) -> Counter[int]:
        """Return how many roots use each entity. Methods that are defined outside of their classes count once."""
        wanted: Counter[int] = Counter()
        for root in roots:
            wanted.update(self._passages.used(root))
            wanted.update(self._members.own(root.unit))
        return wanted

    def _show_cheapest(
        self,
        reached: Mapping[Item, Counter[int]],
        wanted: Mapping[int, int],
        growth: Growth,
        reserved: dict[Item, int],
    ) -> list[Item]:
        """Declare the most used items for their cost, with all that they need, and show `wanted` members of classes.

        Returns the new items. The room that is `reserved` for an item is released when the item is shown.
        """
        fresh: list[Item] = []
        uses = {Offer(item, HEAD): used.total() for item, used in reached.items()}
        waiting = [
            self._ranked(offer, count, self._reaching.least_chars(offer.item), growth) for offer, count in uses.items()
        ]
        parted = [item for item in growth.context.members if not growth.context.distance[item]]
        for offer, used, chars in self._shown.members_of(parted, wanted, growth):
            uses[offer] = used
            waiting.append(self._ranked(offer, used, chars, growth))
        heapify(waiting)
        while waiting:
            rank, level, offer = heappop(waiting)
            if -rank < growth.prices.least:
                break
            trial = growth.trial()
            found = self._shown.show(offer, trial)
            worth = growth.worth(uses[offer], growth.cost(trial))
            if waiting and -worth > max(rank, waiting[0][0]):
                heappush(waiting, (-worth, level, offer))
            elif growth.accept(trial, uses[offer]):
                _release(reserved, growth)
                fresh += found
                for more, used, length in self._shown.members_of({offer.item, *found}, wanted, growth):
                    if more not in uses:
                        uses[more] = used
                        heappush(waiting, self._ranked(more, used, length, growth))
        return fresh

    def _complete(
        self,
        roots: Collection[Passage],
        reached: Mapping[Item, Counter[int]],
        wanted: Mapping[int, int],
        growth: Growth,
    ) -> list[Item]:
        """Show all that the roots still lack, or nothing: a document that lacks nothing compiles.

        Together, this must be worth the price of `_COMPLETES` uses. Parts of it alone are often too dear, such as what
        the macro of a test expands to. Returns the new items.
        """
        most = growth.affordable_chars(_COMPLETES)
        trial = growth.whole_trial(most)
        fresh = self._show_rest(roots, reached, wanted, trial)
        trial.room.chars += growth.room.chars - most
        if not growth.accept(trial, _COMPLETES):
            return []
        if growth.prices.is_free:
            growth.prices.complete(partial(growth.worth, _COMPLETES))
        return fresh

    def _show_rest(
        self,
        roots: Collection[Passage],
        reached: Mapping[Item, Counter[int]],
        wanted: Mapping[int, int],
        growth: Growth,
    ) -> list[Item]:
        """Show all that the roots still lack, until there is no room for something."""
        fresh: list[Item] = []
        for item in self._reaching.order(reached):
            fresh += self._shown.show(Offer(item, HEAD), growth)
            if growth.refused:
                return fresh
        for offer, _, _ in list(self._shown.members_of(set(growth.context.heads), wanted, growth)):
            fresh += self._shown.show(offer, growth)
            if growth.refused:
                return fresh
        return [*fresh, *self._needs.show_needed(roots, growth)]

    def _short_macros(self, reached: Mapping[Item, Counter[int]]) -> dict[Item, int]:
        """Return the short macros that are named, each with its characters: `TEST` of a test library.

        What they expand to may be too long. Then each is shown alone, for which room is reserved.
        """
        named = (item for item in self._reaching.order(reached) if reached[item].total())
        macros = [item for item in named if all(map(self._items.is_macro, range(*item)))]
        chars = {item: self._items.declared_chars(item) for item in macros}
        return {
            item: count + SEPARATOR_CHARS + self._items.around_chars(item)
            for item, count in chars.items()
            if count <= LONGEST_STAND_IN
        }

    def _ranked(self, offer: Offer, uses: int, chars: int, growth: Growth) -> tuple[float, int, Offer]:
        return -growth.worth(uses, chars), self._repository.unit_level(offer.item), offer

    def _open_class(self, item: Item, uses: int, growth: Growth) -> list[Item]:
        """Show all members of a class whose head is shown, if they and what they name fit. Returns the new items."""
        if item not in growth.context.heads or item in growth.limits.barred:
            return []
        fresh = self._shown.buy(Offer(item, ALL), growth, uses / UNASKED)
        return [item, *fresh] if item not in growth.context.heads else []


def _release(reserved: dict[Item, int], growth: Growth) -> None:
    """Release the room that is reserved for items that are shown now."""
    for item in [item for item in reserved if item in growth.context.distance]:
        growth.room.chars += reserved.pop(item)
