"""What a document brings along for its roots: nearest first, declarations before bodies, within a budget.

Breadth first over calls, types and variables. At each distance everything reached comes in its shortest form, what is
used most for its length first, with all that this form names or not at all, and classes with the members that the roots
use; then classes show all their members and functions their bodies, as far as the recipe lets them, where they fit with
the declarations that they need.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from heapq import heapify, heappop, heappush

from megacpp_assets.semantic.documents.growth import (
    ALL,
    HEAD,
    LONGEST_STAND_IN,
    SEPARATOR_CHARS,
    SHORT_CLASS,
    Closure,
    Context,
    Growth,
    Offer,
    Reach,
    Room,
)
from megacpp_assets.semantic.documents.items import Item, Items
from megacpp_assets.semantic.documents.members import OPENING, Members
from megacpp_assets.semantic.documents.mentions import Mentions
from megacpp_assets.semantic.graph.repository import Repository


class Surroundings:
    """The surroundings of roots of one repository."""

    def __init__(
        self, repository: Repository, items: Items, members: Members, mentions: Mentions, reach: Reach
    ) -> None:
        self._repository = repository
        self._items = items
        self._members = members
        self._mentions = mentions
        self._reach = reach
        self._least_chars = cache(items.least_chars)
        self._needed = cache(self._needed_by)
        self._members_need = cache(self._needed_by_members)
        self._body_needs = cache(self._needed_by_body)

    def choose(
        self, roots: Collection[Item], room: Room, needed_room: Room, barred: AbstractSet[Item] = frozenset()
    ) -> Context:
        """Context for `roots`, ranges of chunk numbers.

        First, within `needed_room`, what they are wrong without: the classes of methods, base classes, macros. Then,
        within `room`, what they use. Of items that are `barred` a short signature may stand in, no more.
        """
        context = Context()
        context.distance |= {self._items.of[number]: 0 for root in roots for number in range(*root)}
        frontier = [number for root in roots for number in range(*root)]
        wanted = self._wanted(roots)
        needed = self._show_needed(roots, Growth(context, needed_room, barred, 1))
        for distance in range(1, self._reach.declarations + 1):
            reached = self._reached(frontier)
            growth = Growth(context, room, barred, distance)
            fresh = needed if distance == 1 else []
            fresh += self._show_cheapest(reached, wanted if distance == 1 else {}, growth)
            for item in self._order(reached):
                fresh += self._open_class(item, growth)
                if distance <= self._reach.bodies:
                    fresh += self._show_bodies(item, reached[item], growth)
            frontier = [number for item in dict.fromkeys(fresh) for number in self._leading(item, context)]
            if not frontier or room.chars <= 0 or room.chunks <= 0:
                break
        return context

    def _show_needed(self, roots: Iterable[Item], growth: Growth) -> list[Item]:
        """Show the classes of the methods among `roots`, the bases of their classes, and the macros that they name."""
        fresh: list[Item] = []
        items = dict.fromkeys(self._items.of[number] for root in roots for number in range(*root))
        for item in items:
            fresh += self._show_class(item, growth)
        for item in items:
            fresh += self._show_bases(item, growth) if self._items.head_chars(item) else []
        for item in items:
            fresh += self._show_used(item, growth)
        for item in items:
            named = [target for number in range(*item) for target in self._macros_of(number)]
            closure = self._closure(self._by_use(named), growth)
            fresh += closure.items if self._take(closure, growth) else ()
        return fresh

    def _show_used(self, item: Item, growth: Growth) -> list[Item]:
        """Show of the classes that a root uses the members that it names, and define those that it needs complete."""
        fresh: list[Item] = []
        wanted, text = self._mentions.used(item), self._items.text(item)
        reached = self._order(self._reached(range(*item)))
        holders = (each if self._items.head_chars(each) else self._items.holder(each) for each in reached)
        for used in dict.fromkeys(each for each in holders if each is not None and each != item):
            fresh += self._show_head(used, growth)
            offers = [offer for offer, _, _ in self._members_of([used], wanted, growth)]
            if used in growth.context.heads and (offers or self._items.is_complete_in(text, used[0])):
                for offer in [self._definition(used), *offers]:
                    fresh += self._show_offer(offer, growth)
        return fresh

    def _definition(self, item: Item) -> Offer:
        """The least that defines a class: without members, or whole if it is short or cannot be cut."""
        is_short = self._items.declared_chars(item) <= SHORT_CLASS
        return Offer(item, ALL if is_short or self._members.of(item) is None else OPENING)

    def _macros_of(self, number: int) -> Iterator[int]:
        """The macros that the text of chunk `number` names."""
        for target in self._items.used(number):
            if self._items.is_macro(target) and self._items.spells(number, target):
                yield target

    def _show_class(self, item: Item, growth: Growth) -> list[Item]:
        """Show the class that `item` is defined outside of as a member: its declaration there first, then the members
        that it names."""
        holder = self._items.holder(item)
        if holder is None:
            return []
        fresh = self._show_class(holder, growth) if self._items.is_inner(holder) else []
        fresh += self._show_head(holder, growth)
        for wanted in (Counter(self._members.own(item)), self._mentions.used(item)):
            for offer, _, _ in list(self._members_of([holder], wanted, growth)):
                fresh += self._show_offer(offer, growth)
        return fresh

    def _show_head(self, item: Item, growth: Growth) -> list[Item]:
        closure = self._closure([item], growth)
        return list(closure.items) if closure.items and self._take(closure, growth) else []

    def _show_offer(self, offer: Offer, growth: Growth) -> list[Item]:
        closure = self._offered(offer, growth)
        return [*closure.items, *self._note(offer, growth)] if self._take(closure, growth) else []

    def _show_bases(self, item: Item, growth: Growth) -> list[Item]:
        """Define the classes that have to be complete where a class is shown: its bases with those of their virtual
        functions that it overrides, and the types of its fields."""
        fresh: list[Item] = []
        shown = growth.context.members.get(item, set()) if item in growth.context.heads else None
        names = self._members.called(item, shown)
        for base in self._members.completes(item, shown):
            fresh += self._show_head(base, growth)
            if base not in growth.context.heads or base in growth.barred:
                continue
            offers = [self._definition(base), *(Offer(base, each) for each in self._members.virtual(base, names))]
            for offer in offers:
                if base in growth.context.heads and offer.number not in growth.context.members.get(base, ()):
                    fresh += self._show_offer(offer, growth)
        return fresh

    def _wanted(self, roots: Iterable[Item]) -> Counter[int]:
        """The entities that roots use, each with how many do; and methods defined outside of their classes, once."""
        wanted: Counter[int] = Counter()
        for root in roots:
            wanted.update(self._mentions.used(root))
            wanted.update(self._members.own(root))
        return wanted

    def _order(self, reached: Mapping[Item, Counter[int]]) -> list[Item]:
        """What is used most for its length first, then the lowest level."""
        worth = {item: uses.total() / (self._least_chars(item) + SEPARATOR_CHARS) for item, uses in reached.items()}
        return sorted(reached, key=lambda item: (-worth[item], self._repository.unit_level(item), item))

    def _reached(self, frontier: Iterable[int]) -> Mapping[Item, Counter[int]]:
        """The chunks one edge away, by item, each with how many use it by its name: one that only the expansion of a
        macro or a conversion uses comes last, since nobody reads its name. -1 - n stands for the signature of n."""
        reached: dict[Item, Counter[int]] = defaultdict(Counter)
        for number in frontier:
            for target in self._items.used(number) if number >= 0 else self._items.named(-1 - number):
                by_name = number < 0 or self._items.spells(number, target)
                reached[self._items.of[target]][target] += by_name
        return reached

    def _show_cheapest(
        self, reached: Mapping[Item, Counter[int]], wanted: Mapping[int, int], growth: Growth
    ) -> list[Item]:
        """Declare what is used most for what it costs with all that it names beyond what stands there already, and of
        classes that are declared show the members that are `wanted`. Which items are new."""
        fresh: list[Item] = []
        uses = {Offer(item, HEAD): used.total() for item, used in reached.items()}
        waiting = [self._ranked(offer, used, self._least_chars(offer.item)) for offer, used in uses.items()]
        heapify(waiting)
        while waiting:
            rank, level, offer = heappop(waiting)
            closure = self._offered(offer, growth)
            worth = uses[offer] / self._cost(closure.chars)
            if waiting and -worth > max(rank, waiting[0][0]):
                heappush(waiting, (-worth, level, offer))
            elif self._take(closure, growth):
                fresh += (*closure.items, *self._note(offer, growth))
                for more, used, chars in self._members_of(
                    {offer.item, *closure.items} if offer.number == HEAD else closure.items, wanted, growth
                ):
                    uses[more] = used
                    heappush(waiting, self._ranked(more, used, chars))
        return fresh

    def _ranked(self, offer: Offer, uses: int, chars: int) -> tuple[float, int, Offer]:
        return -uses / self._cost(chars), self._repository.unit_level(offer.item), offer

    def _members_of(
        self, items: Iterable[Item], wanted: Mapping[int, int], growth: Growth
    ) -> Iterator[tuple[Offer, int, int]]:
        """The members of the classes among `items` that declare what is `wanted`, with their uses and characters; of an
        enumeration, which has no excerpts, all together."""
        for item in growth.context.heads.intersection(items) - growth.barred if wanted else ():
            excerpt = self._members.of(item)
            offers = (
                [(number, member.ids, member.chars) for number, member in enumerate(excerpt.members)]
                if excerpt
                else [(ALL, self._members.declared(item), self._items.declared_chars(item))]
            )
            for number, ids, chars in offers:
                if used := sum(wanted.get(each, 0) for each in ids):
                    yield Offer(item, number), used, chars

    def _offered(self, offer: Offer, growth: Growth) -> Closure:
        """What an offer takes, with all that it names."""
        item, number = offer
        if number == HEAD:
            return self._closure([item], growth)
        if item not in growth.context.heads or item in growth.barred:
            return Closure((), 0, 0)
        shown = growth.context.members.get(item, set())
        if number == ALL:
            return self._opened(item, growth)
        more = self._members.with_named(item, number) - shown
        chars = self._members.chars(item, shown | more) - self._members.chars(item, shown)
        places = more if shown else {OPENING, *more}
        named = [chunk for place in sorted(places) for chunk in self._members.needs(item, place)]
        return self._closure(self._by_use(named), growth, chars, 0 if shown else 1 - self._chunks_of_head(item))

    def _note(self, offer: Offer, growth: Growth) -> list[Item]:
        """Record what is shown of a class from now on, and show its bases if it is more than its head."""
        item, number = offer
        if number == HEAD or item not in growth.context.heads or item in growth.barred:
            return []
        if number == ALL:
            growth.context.heads.discard(item)
            growth.context.members.pop(item, None)
        else:
            growth.context.members.setdefault(item, set()).update(self._members.with_named(item, number))
        return self._show_bases(item, growth)

    def _closure(self, items: Iterable[Item], growth: Growth, chars: int = 0, chunks: int = 0) -> Closure:
        """`items` in their shortest form with all that those forms name and that does not stand there yet, as far as
        there is room, and with `chars` in `chunks` what they take."""
        taken: dict[Item, None] = {}
        pending = deque(items)
        while pending and chars <= growth.room.chars and chunks <= growth.room.chunks:
            item = pending.popleft()
            if item in taken or item in growth.context.distance or self._is_refused(item, growth):
                continue
            taken[item] = None
            least = self._least_chars(item)
            chars += least + SEPARATOR_CHARS + self._items.around_chars(item) if least else 0
            chunks += (1 if self._items.head_chars(item) else item[1] - item[0]) if least else 0
            pending.extend(self._needed(item))
        return Closure(tuple(taken), chars, chunks)

    @staticmethod
    def _cost(chars: int) -> int:
        return chars + SEPARATOR_CHARS

    def _take(self, closure: Closure, growth: Growth) -> bool:
        """Show `closure` if there is room for all of it: a part would name what is missing."""
        if not growth.room.try_reserve(closure.chars, closure.chunks):
            return False
        for item in closure.items:
            growth.context.distance[item] = growth.distance
            growth.context.whole[item] = set()
            growth.context.heads |= {item} if self._items.head_chars(item) else set()
        return True

    def _needed_by(self, item: Item) -> list[Item]:
        """What the shortest form of `item` means nothing without: the class of a method, and all that is named."""
        holder = self._items.holder(item)
        leads = [-1 - item[0]] if self._items.head_chars(item) else self._short_leads(item, ())
        return [*([] if holder is None else [holder]), *self._order(self._reached(leads))]

    def _is_refused(self, item: Item, growth: Growth) -> bool:
        """Whether `item` is barred and has no short signature that may stand in."""
        head, chars = self._items.head_chars(item), self._least_chars(item)
        short = 0 < chars <= LONGEST_STAND_IN and (head > 0 or bool(self._items.bodies(item)))
        return item in growth.barred and not short

    def _by_use(self, chunks: Iterable[int]) -> list[Item]:
        reached: dict[Item, Counter[int]] = defaultdict(Counter)
        for number in chunks:
            reached[self._items.of[number]][number] += 1
        return self._order(reached)

    def _open_class(self, item: Item, growth: Growth) -> list[Item]:
        """Show the members of a class whose head stands there, if they and what they name fit; where to go on from."""
        if item not in growth.context.heads or item in growth.barred:
            return []
        opened = self._opened(item, growth)
        if not self._take(opened, growth):
            return []
        return [item, *opened.items, *self._note(Offer(item, ALL), growth)]

    def _opened(self, item: Item, growth: Growth) -> Closure:
        """What all members of a class take beyond those that are shown, with all that they name."""
        shown = self._members.chars(item, growth.context.members.get(item, ()))
        more = self._items.declared_chars(item) - self._least_chars(item) - shown
        chunks = item[1] - item[0] - self._chunks_of_head(item)
        return self._closure(self._members_need(item), growth, max(0, more), chunks)

    def _chunks_of_head(self, item: Item) -> int:
        """Chunks that the head of a class takes where no more of it is shown."""
        return int(self._least_chars(item) > 0)

    def _show_bodies(self, item: Item, used: Counter[int], growth: Growth) -> list[Item]:
        """Show the bodies of `item` that are `used`, if they and what they name fit; gives where to go on."""
        fresh: list[Item] = []
        if item not in growth.context.whole or item in growth.barred or item in growth.context.heads:
            return fresh
        for number in (number for number in self._items.bodies(item) if used[number]):
            hidden = self._items.declared_chars(item) == 0
            if hidden:
                fresh += self._show_class(item, growth)
                if not self._is_defined(self._items.holder(item), growth):
                    continue
            cost = self._items.body_chars(item, number)
            if hidden:
                cost = self._items.whole_chars(item) + SEPARATOR_CHARS + self._items.around_chars(item)
            shown = self._closure(self._body_needs(number), growth, cost, int(hidden))
            if self._take(shown, growth):
                growth.context.whole[item].add(number)
                fresh += [item, *shown.items]
        return fresh

    def _is_defined(self, item: Item | None, growth: Growth) -> bool:
        """Whether more than the head of a class is shown, or there is no class."""
        heads, members = growth.context.heads, growth.context.members
        return item is None or (item in growth.context.distance and (item not in heads or bool(members.get(item))))

    def _needed_by_members(self, item: Item) -> list[Item]:
        return self._order(self._reached(self._short_leads(item, ())))

    def _needed_by_body(self, number: int) -> list[Item]:
        return self._order(self._reached([number]))

    def _leading(self, item: Item, context: Context) -> list[int]:
        """Chunks of `item` to go on from: those shown, and as -1 - number those whose signature alone is."""
        if item in context.heads:
            return [-1 - item[0]]
        return self._short_leads(item, context.whole[item])

    def _short_leads(self, item: Item, whole: Collection[int]) -> list[int]:
        """The same for an item of which all is shown but the bodies that are not in `whole`."""
        hidden = (-1 - number for number in self._items.bodies(item) if number not in whole)
        return [*self._items.shown(item, whole), *hidden]
