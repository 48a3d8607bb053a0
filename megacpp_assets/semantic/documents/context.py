"""What a document brings along for its roots: nearest first, declarations before bodies, within a budget.

Breadth first over calls, types and variables. At each distance everything reached comes as its declaration, the most
used first; then bodies, as far as the recipe lets them go, where the declarations that they need still fit. A body
that stands there leads on to all that it uses, a signature only to what it names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from megacpp_assets.semantic.documents.items import Item, Items
from megacpp_assets.semantic.documents.repository import Repository

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
            order = sorted(reached, key=lambda item: (-reached[item].total(), self._level(item), item))
            fresh = self._declare(order, room, context, barred, distance)
            self._open_classes(order, room, context, barred)
            if distance <= self._reach.bodies:
                self._show(order, reached, room, context, barred, last=distance == self._reach.declarations)
            frontier = [number for item in fresh for number in self._leading(item, context)]
            if not frontier or room.chars <= 0 or room.chunks <= 0:
                break
        return context

    def _reached(self, frontier: Iterable[int]) -> Mapping[Item, Counter[int]]:
        """The chunks one edge away, by item, each as often as it is used; -1 - n stands for the signature of n."""
        reached: dict[Item, Counter[int]] = defaultdict(Counter)
        for number in frontier:
            for target in self._items.used(number) if number >= 0 else self._items.named(-1 - number):
                reached[self._items.of[target]][target] += 1
        return reached

    def _declare(
        self,
        order: Sequence[Item],
        room: Room,
        context: Context,
        barred: AbstractSet[Item],
        distance: int,
    ) -> list[Item]:
        """Take what was reached as declarations, the shortest that there are; which of them is new."""
        fresh = []
        for item in order:
            holder = self._items.owner(item)
            for wanted in (holder, item) if holder is not None else (item,):
                if wanted not in context.distance and self._fits(wanted, room, barred):
                    context.distance[wanted] = distance
                    context.whole[wanted] = set()
                    context.heads |= {wanted} if self._items.head_chars(wanted) else set()
                    fresh.append(wanted)
        return fresh

    def _fits(self, item: Item, room: Room, barred: AbstractSet[Item]) -> bool:
        head = self._items.head_chars(item)
        chars = head or self._items.declared_chars(item)
        short = 0 < chars <= _LONGEST_STAND_IN and (head > 0 or bool(self._items.bodies(item)))
        if item in barred and not short:
            return False
        return chars == 0 or room.takes(chars + SEPARATOR_CHARS, 1 if head else item[1] - item[0])

    def _open_classes(self, order: Sequence[Item], room: Room, context: Context, barred: AbstractSet[Item]) -> None:
        """Show the members of classes of which the heads stand there, the most used first."""
        for item in order:
            if item in context.heads and item not in barred:
                more = self._items.declared_chars(item) - self._items.head_chars(item)
                if room.takes(more, item[1] - item[0] - 1):
                    context.heads.discard(item)

    def _show(
        self,
        order: Sequence[Item],
        reached: Mapping[Item, Counter[int]],
        room: Room,
        context: Context,
        barred: AbstractSet[Item],
        *,
        last: bool,
    ) -> None:
        """Show the bodies that are used most where they and the declarations that they need fit."""
        spare = room.chars
        promised: set[Item] = set()
        for item in order:
            if item not in context.whole or item in barred or item in context.heads:
                continue
            for number in (number for number in self._items.bodies(item) if reached[item][number]):
                hidden = self._items.declared_chars(item) == 0
                cost = self._items.whole_chars(item) + SEPARATOR_CHARS if hidden else self._items.body_chars(number)
                needs = set() if last else self._needs(number, context) - promised
                total = cost + sum(self._items.declared_chars(need) + SEPARATOR_CHARS for need in needs)
                if total <= spare and room.takes(cost, int(hidden)):
                    spare -= total
                    promised |= needs
                    context.whole[item].add(number)

    def _needs(self, number: int, context: Context) -> set[Item]:
        used = {self._items.of[target] for target in self._items.used(number)}
        return {item for item in used if item not in context.distance}

    def _leading(self, item: Item, context: Context) -> list[int]:
        """Chunks of `item` to go on from: those shown, and as -1 - number those whose signature alone is."""
        if item in context.heads:
            return [-1 - item[0]]
        shown = self._items.shown(item, context.whole[item])
        return [*shown, *(-1 - number for number in self._items.bodies(item) if number not in context.whole[item])]

    def _level(self, item: Item) -> int:
        return self._repository.unit_level(item)
