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
from dataclasses import dataclass, field
from functools import cache
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from megacpp_assets.semantic.documents.items import Item, Items
from megacpp_assets.semantic.documents.members import OPENING, Members
from megacpp_assets.semantic.documents.mentions import Mentions
from megacpp_assets.semantic.graph.repository import Repository

SEPARATOR_CHARS = 2
_LONGEST_STAND_IN = 200
"""Of a definition that is barred, a signature up to so many characters may stand in."""
_HEAD, _ALL = -2, -1


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
class _Growth:
    """A context as it grows by one distance, within a room, and what may not be shown in it."""

    context: Context
    room: Room
    barred: AbstractSet[Item]
    distance: int


class _Offer(NamedTuple):
    """What may be shown of an item: a member by its number, its shortest form (_HEAD) or all members (_ALL)."""

    item: Item
    number: int


class _Closure(NamedTuple):
    """Items that come together or not at all, and what they take."""

    items: tuple[Item, ...]
    chars: int
    chunks: int


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

    def choose(self, roots: Collection[Item], room: Room, barred: AbstractSet[Item] = frozenset()) -> Context:
        """Context for `roots`, ranges of chunk numbers, within `room`. Of items that are `barred` a short signature may
        stand in, no more."""
        context = Context()
        context.distance |= {self._items.of[number]: 0 for root in roots for number in range(*root)}
        frontier = [number for root in roots for number in range(*root)]
        wanted = self._wanted(roots)
        for distance in range(1, self._reach.declarations + 1):
            reached = self._reached(frontier)
            growth = _Growth(context, room, barred, distance)
            fresh = self._show_cheapest(reached, wanted if distance == 1 else {}, growth)
            for item in self._order(reached):
                fresh += self._open_class(item, growth)
                if distance <= self._reach.bodies:
                    fresh += self._show_bodies(item, reached[item], growth)
            frontier = [number for item in dict.fromkeys(fresh) for number in self._leading(item, context)]
            if not frontier or room.chars <= 0 or room.chunks <= 0:
                break
        return context

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
        self, reached: Mapping[Item, Counter[int]], wanted: Mapping[int, int], growth: _Growth
    ) -> list[Item]:
        """Declare what is used most for what it costs with all that it names beyond what stands there already, and of
        classes that are declared show the members that are `wanted`. Which items are new."""
        fresh: list[Item] = []
        uses = {_Offer(item, _HEAD): used.total() for item, used in reached.items()}
        waiting = [self._ranked(offer, used, self._least_chars(offer.item)) for offer, used in uses.items()]
        heapify(waiting)
        while waiting:
            rank, level, offer = heappop(waiting)
            closure = self._offered(offer, growth)
            worth = uses[offer] / self._cost(closure.chars)
            if waiting and -worth > max(rank, waiting[0][0]):
                heappush(waiting, (-worth, level, offer))
            elif self._take(closure, growth):
                self._note(offer, growth)
                fresh += closure.items
                for more, used, chars in (
                    *self._members_of(closure.items, wanted, growth),
                    *self._bases_of(offer, growth),
                ):
                    uses[more] = used
                    heappush(waiting, self._ranked(more, used, chars))
        return fresh

    def _ranked(self, offer: _Offer, uses: int, chars: int) -> tuple[float, int, _Offer]:
        return -uses / self._cost(chars), self._repository.unit_level(offer.item), offer

    def _members_of(
        self, items: Iterable[Item], wanted: Mapping[int, int], growth: _Growth
    ) -> Iterator[tuple[_Offer, int, int]]:
        """The members of the classes among `items` that declare what is `wanted`, with their uses and characters; of an
        enumeration, which has no excerpts, all together."""
        for item in growth.context.heads.intersection(items) - growth.barred if wanted else ():
            excerpt = self._members.of(item)
            offers = (
                [(number, member.ids, member.chars) for number, member in enumerate(excerpt.members)]
                if excerpt
                else [(_ALL, self._members.declared(item), self._items.declared_chars(item))]
            )
            for number, ids, chars in offers:
                if used := sum(wanted.get(each, 0) for each in ids):
                    yield _Offer(item, number), used, chars

    def _bases_of(self, offer: _Offer, growth: _Growth) -> Iterator[tuple[_Offer, int, int]]:
        """The classes named in the opening of a class that shows members: a base is to be more than declared."""
        needed = self._members.needs(offer.item, OPENING) if offer.number not in (_HEAD, _ALL) else ()
        named = {self._items.of[number] for number in needed}
        for item in named & growth.context.heads - growth.barred:
            yield _Offer(item, _ALL), 1, self._items.declared_chars(item)

    def _offered(self, offer: _Offer, growth: _Growth) -> _Closure:
        """What an offer takes, with all that it names."""
        item, number = offer
        if number == _HEAD:
            return self._closure([item], growth)
        shown = growth.context.members.get(item, set())
        if number == _ALL:
            return self._opened(item, growth) if item in growth.context.heads else _Closure((), 0, 0)
        more = self._members.with_named(item, number) - shown
        chars = self._members.chars(item, shown | more) - self._members.chars(item, shown)
        places = more if shown else {OPENING, *more}
        named = [chunk for place in sorted(places) for chunk in self._members.needs(item, place)]
        return self._closure(self._by_use(named), growth, chars, 0 if shown else 1 - self._chunks_of_head(item))

    def _note(self, offer: _Offer, growth: _Growth) -> None:
        """What is shown of a class from now on."""
        item, number = offer
        if number == _ALL:
            growth.context.heads.discard(item)
            growth.context.members.pop(item, None)
        elif number != _HEAD:
            growth.context.members.setdefault(item, set()).update(self._members.with_named(item, number))

    def _closure(self, items: Iterable[Item], growth: _Growth, chars: int = 0, chunks: int = 0) -> _Closure:
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
        return _Closure(tuple(taken), chars, chunks)

    @staticmethod
    def _cost(chars: int) -> int:
        return chars + SEPARATOR_CHARS

    def _take(self, closure: _Closure, growth: _Growth) -> bool:
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

    def _is_refused(self, item: Item, growth: _Growth) -> bool:
        """Whether `item` is barred and has no short signature that may stand in."""
        head, chars = self._items.head_chars(item), self._least_chars(item)
        short = 0 < chars <= _LONGEST_STAND_IN and (head > 0 or bool(self._items.bodies(item)))
        return item in growth.barred and not short

    def _by_use(self, chunks: Iterable[int]) -> list[Item]:
        reached: dict[Item, Counter[int]] = defaultdict(Counter)
        for number in chunks:
            reached[self._items.of[number]][number] += 1
        return self._order(reached)

    def _open_class(self, item: Item, growth: _Growth) -> list[Item]:
        """Show the members of a class whose head stands there, if they and what they name fit; where to go on from."""
        if item not in growth.context.heads or item in growth.barred:
            return []
        opened = self._opened(item, growth)
        if not self._take(opened, growth):
            return []
        self._note(_Offer(item, _ALL), growth)
        return [item, *opened.items]

    def _opened(self, item: Item, growth: _Growth) -> _Closure:
        """What all members of a class take beyond those that are shown, with all that they name."""
        shown = self._members.chars(item, growth.context.members.get(item, ()))
        more = self._items.declared_chars(item) - self._least_chars(item) - shown
        chunks = item[1] - item[0] - self._chunks_of_head(item)
        return self._closure(self._members_need(item), growth, max(0, more), chunks)

    def _chunks_of_head(self, item: Item) -> int:
        """Chunks that the head of a class takes where no more of it is shown."""
        return int(self._least_chars(item) > 0)

    def _show_bodies(self, item: Item, used: Counter[int], growth: _Growth) -> list[Item]:
        """Show the bodies of `item` that are `used`, if they and what they name fit; gives where to go on."""
        fresh: list[Item] = []
        if item not in growth.context.whole or item in growth.barred or item in growth.context.heads:
            return fresh
        for number in (number for number in self._items.bodies(item) if used[number]):
            hidden = self._items.declared_chars(item) == 0
            cost = self._items.body_chars(item, number)
            if hidden:
                cost = self._items.whole_chars(item) + SEPARATOR_CHARS + self._items.around_chars(item)
            shown = self._closure(self._body_needs(number), growth, cost, int(hidden))
            if self._take(shown, growth):
                growth.context.whole[item].add(number)
                fresh += [item, *shown.items]
        return fresh

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
