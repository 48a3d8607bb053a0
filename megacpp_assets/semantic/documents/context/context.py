"""Chooses the context of a document: nearest first, declarations before bodies, within a budget.

The search is breadth first over calls, types and variables. At each distance, everything that is reached is shown in
its shortest form. The code with the most uses for its length comes first. It is shown with everything that this form
names, or not at all. Classes are shown with the members that the roots use. Then classes show all their members and
functions their bodies, up to the recipe's distance. They are shown only if they fit with the declarations that they
need, and if they are worth the price of the repository. The search is native, in native/documents.
"""

from __future__ import annotations

from collections.abc import Collection

from megacpp_assets.semantic.documents.context._search import ContextSearch
from megacpp_assets.semantic.documents.context.facts import ContextFacts
from megacpp_assets.semantic.documents.context.growth import Context, Limits, Reach, Room, completion_worth
from megacpp_assets.semantic.documents.context.passages import Passage
from megacpp_assets.semantic.documents.context.prices import Prices
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import Members
from megacpp_assets.semantic.documents.items.mentions import Mentions
from megacpp_assets.semantic.documents.items.stand_ins import StandIns
from megacpp_assets.semantic.graph.repository import Repository


class Surroundings:
    """Chooses the context of roots of one repository."""

    def __init__(
        self,
        repository: Repository,
        items: Items,
        members: Members,
        mentions: Mentions,
        *,
        stand_ins: StandIns,
        reach: Reach,
    ) -> None:
        self._items = items
        self._members = members
        self._facts = ContextFacts(repository, items, members, mentions, stand_ins)
        self._search = ContextSearch(
            self._facts, *self._facts.columns(), reach.declarations, reach.bodies, reach.callers
        )
        self.used = self._facts.passages.used
        """The entities that a passage names and does not declare, each with how often."""

    def choose(self, roots: Collection[Passage], room: Room, prices: Prices, limits: Limits) -> Context:
        """Return the context of `roots` within `room` and `limits` and at `prices`.

        It has first the items without which roots are wrong: the classes of methods, base classes, macros. Then come
        the items that they use.

        Raises:
            ValueError: what the document shows needs too much, one thing for the other.
        """
        places = [(*root.unit, root.start, root.end, root.begun) for root in roots]
        sets = frozenset(limits.barred), frozenset(limits.sealed), frozenset(limits.denied)
        price = prices.price
        shown, members, completed, has_partial = self._search.choose(
            places, self._opened(roots), (room.chars, room.chunks), price, sets, limits.is_c
        )
        prices.complete(completed, completion_worth)
        prices.take(price.taken)
        of = self._items.of
        context = Context(
            whole={of[first]: frozenset(bodies) for first, distance, bodies, _ in shown if distance},
            heads={of[first] for first, _, _, is_head in shown if is_head},
            members={of[first]: frozenset(numbers) for first, numbers in members},
            distance={of[first]: distance for first, distance, _, _ in shown},
        )
        if has_partial:
            self._facts.permissions.show_partial(roots, context, limits)
        return context

    def _opened(self, roots: Collection[Passage]) -> list[tuple[int, list[int]]]:
        """Return the members that a part of a class shows, so that others may be added."""
        found: list[tuple[int, list[int]]] = []
        for root in roots:
            item: Item = self._items.of[root.unit[0]]
            if root.is_part and (shown := self._members.shown_in_part(item, root.begun, root.end)):
                found.append((item[0], sorted(shown)))
        return found
