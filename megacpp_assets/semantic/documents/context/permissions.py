"""What the limits of a document permit: which items it may show, and how much of those that are barred."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from megacpp_assets.semantic.documents.context.growth import (
    ALL,
    LONGEST_SIGNATURE,
    LONGEST_STAND_IN,
    Growth,
    Limits,
    Offer,
)
from megacpp_assets.semantic.documents.context.passages import Passage, Passages
from megacpp_assets.semantic.documents.context.reaching import Reaching
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import OPENING, Members
from megacpp_assets.semantic.documents.items.recent import recent


class Permissions:
    """What documents may show of the items of one repository."""

    def __init__(self, items: Items, members: Members, passages: Passages, reaching: Reaching) -> None:
        self._items = items
        self._members = members
        self._passages = passages
        self._reaching = reaching
        self._is_unusable = recent(self._is_torn_or_cpp)

    def is_refused(self, item: Item, limits: Limits) -> bool:
        """Return whether `item` cannot be shown: it is barred and no short declaration can replace it, or it is sealed
        and has no signature, or it has half of a conditional, or it is C++ in a document in C.
        """
        if self._is_unusable(item, limits.is_c):
            return True
        if item not in limits.barred or self.is_partial(item, limits):
            return False
        is_short = 0 < self._reaching.least_chars(item) <= LONGEST_STAND_IN
        is_signature = self._items.head_chars(item) > 0 or bool(self._items.bodies(item))
        return not (is_short and (is_signature or item not in limits.sealed))

    def _is_torn_or_cpp(self, item: Item, is_c: bool) -> bool:
        """Return whether no document, or none in C if `is_c`, can show an item."""
        is_torn = not self._items.head_chars(item) and self._items.is_torn(item)
        return is_torn or (is_c and self._items.is_cpp(item))

    def is_partial(self, item: Item, limits: Limits) -> bool:
        """Return whether a barred enumeration, or a barred struct that a typedef alone names, is shown with its used
        members: nothing shorter declares it.
        """
        is_long = item in limits.barred and self._items.declared_chars(item) > LONGEST_STAND_IN
        return is_long and item not in limits.denied and self._members.partial(item) is not None

    def may_open(self, offer: Offer, growth: Growth) -> bool:
        """Return whether more than the head of a shown class may be shown. Of a barred class these are short members
        without bodies, or a short enumeration, which has no members to choose from.
        """
        item, number = offer
        if growth.context.distance.get(item) == 0 and number == ALL:
            return False  # a root is cut into parts because it is too long
        if item not in growth.context.heads or item not in growth.limits.barred:
            return item in growth.context.heads
        if item in growth.limits.sealed:
            return False
        excerpt = self._members.of(item)
        if excerpt is None or number == ALL:
            return excerpt is None and number == ALL and self._items.declared_chars(item) <= LONGEST_STAND_IN
        shown = self._members.with_named(item, number) - {OPENING}
        members = [excerpt.members[each] for each in shown]
        return all(each.chars <= (LONGEST_SIGNATURE if each.called else LONGEST_STAND_IN) for each in members)

    def show_partial(self, roots: Iterable[Passage], growth: Growth) -> None:
        """Choose the members of the items that are shown in part: those that anything shown uses, or the first.

        A sealed item shows its first member alone: the type is declared, and nothing else of it is shown.
        """
        context = growth.context
        partial = [item for item in context.distance if item in context.whole and self.is_partial(item, growth.limits)]
        if not partial:
            return
        used: set[int] = set()
        for passage in (*roots, *map(Passage, context.whole)):
            used |= self._passages.wanted(passage).keys()
        for item in partial:
            excerpt = self._members.partial(item)
            members = enumerate(excerpt.members) if excerpt else ()
            named = {number for number, member in members if not used.isdisjoint(member.ids)}
            named = named if item not in growth.limits.sealed else set()
            if self._members.is_enumeration(item):
                named = self._with_values(item, named)
            context.heads.add(item)
            context.members[item] = frozenset({OPENING, *(named or {0})})

    def _with_values(self, item: Item, numbers: AbstractSet[int]) -> set[int]:
        """Return those enumerators `numbers` that can be shown with their values, and what they need for it.

        An enumerator without a value of its own counts on from the one before it, so it needs those in between. They
        are text that nothing here uses, of a definition that is held out. The rule lets a short declaration stand in
        for such a definition, so they may be as long as one. An enumerator that needs more is not declared: it would
        be wrong. If all documents together would show the whole, the judge refuses the last of them. If none is left,
        the first that needs least is returned, since an enumeration cannot be empty.
        """
        excerpt, valued = self._members.partial(item), self._members.valued(item)
        found: set[int] = set()
        for number in sorted(numbers):
            more = valued[number]
            if excerpt and sum(excerpt.members[each].chars for each in more - {number}) <= LONGEST_STAND_IN:
                found |= more
        return found or min((set(each) for each in valued if each), key=len)
