"""What roots are wrong without: the classes of methods, bases, complete types, macros; and bodies with the same."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from megacpp_assets.semantic.documents.context.evaluated import Evaluated
from megacpp_assets.semantic.documents.context.growth import (
    ALL,
    HEAD,
    SHORT_CLASS,
    UNASKED,
    Growth,
    Offer,
)
from megacpp_assets.semantic.documents.context.passages import Passage, Passages
from megacpp_assets.semantic.documents.context.purchases import Purchases
from megacpp_assets.semantic.documents.context.reaching import Reaching
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import Members
from megacpp_assets.semantic.documents.items.mentions import Mentions
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.graph.link import CALL_EDGE
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.words.aliases import DIRECTIVE


class Needs:
    """What the items of one repository are wrong without."""

    def __init__(self, repository: Repository, items: Items, members: Members, mentions: Mentions) -> None:
        self._repository = repository
        self._items = items
        self._members = members
        self.passages = Passages(repository, items, mentions)
        self.reaching = Reaching(repository, items)
        evaluated = Evaluated(repository, items, self.passages)
        self._evaluated = evaluated.of
        self.shown = Purchases(items, members, self.passages, self.reaching, evaluated)
        self._is_directive = recent(self._is_using_directive)
        """Whether a chunk is a using-directive."""
        self._callers = recent(self._calling)

    def show_needed(self, roots: Iterable[Passage], growth: Growth) -> list[Item]:
        """Show the classes of the methods among `roots`, the bases of their classes, and the macros that they name."""
        fresh: list[Item] = []
        passages = self.passages.by_item(roots)
        for passage in passages:
            fresh += self.shown.show_class_of(passage, growth, partial(self._buy, growth), math.inf)
        for item in passages.values():
            fresh += self._show_bases(item, growth) if self._items.head_chars(item) else []
        for passage in passages:
            fresh += self._show_macros(passage, growth)
        for passage in passages:
            fresh += self.shown.look_into(passage, growth, partial(self._buy, growth))
            fresh += self.shown.show_bodies(self._evaluated(passage), growth)
        return fresh

    def _buy(self, growth: Growth, offer: Offer, uses: float) -> list[Item]:
        return self.shown.buy(offer, growth, uses)

    def _show_bases(self, item: Item, growth: Growth) -> list[Item]:
        trial = growth.trial()
        fresh = self.shown.show_bases(item, trial)
        return fresh if growth.accept(trial, math.inf) else self.shown.show_bases(item, growth)

    def _show_macros(self, passage: Passage, growth: Growth) -> list[Item]:
        """Show the macros that the text of `passage` names, and the using-directives in front of it."""
        fresh: list[Item] = []
        for number, used in self.passages.targets(passage):
            for target in used:
                is_spelled = self._items.is_macro(target) and self._items.spells(number, target)
                if is_spelled or self._is_directive(target):
                    trial = growth.trial()
                    found = self.shown.show(Offer(self._items.of[target], HEAD), trial)
                    uses = math.inf if growth.cost(trial) <= SHORT_CLASS else 1
                    fresh += found if growth.accept(trial, uses) else []
        return fresh

    def _is_using_directive(self, number: int) -> bool:
        node = self._repository.nodes[number]
        code = self._repository.files[node.file].source.data
        return node.chunk.kind == "preamble" and DIRECTIVE.search(code, node.chunk.start, node.chunk.end) is not None

    def show_callers(self, roots: Iterable[Passage], growth: Growth) -> list[Item]:
        """Show the functions that call a root directly, with their bodies, the shortest first."""
        fresh: list[Item] = []
        called = {number for root in roots for number in range(*root.unit)}
        callers = {caller for number in called for caller in self._callers().get(number, ())} - called
        places = [(self._items.whole_chars((number, number + 1)), number) for number in callers]
        for _, number in sorted(places):
            item = self._items.of[number]
            fresh += self.shown.buy(Offer(item, HEAD), growth, 1)
            fresh += self.shown.buy(Offer(item, ALL), growth, 1) if item in growth.context.heads else []
            fresh += self.show_bodies(item, Counter((number,)), growth)
        return fresh

    def _calling(self) -> Mapping[int, Sequence[int]]:
        """Return the chunks that call each chunk."""
        found: dict[int, list[int]] = defaultdict(list)
        for caller, edges in enumerate(self._repository.out):
            for target, edge, _ in edges:
                if edge == CALL_EDGE:
                    found[target].append(caller)
        return found

    def show_bodies(self, item: Item, used: Counter[int], growth: Growth) -> list[Item]:
        """Show the bodies of `item` that are `used`, each with all that it needs if that fits; gives where to go on."""
        fresh: list[Item] = []
        if not self.shown.may_show_bodies(item, growth):
            return fresh
        for number in (number for number in self._items.bodies(item) if used[number]):
            trial = growth.trial()
            found = self.shown.show_body(item, number, trial)
            fresh += [item, *found] if growth.accept(trial, used[number] / UNASKED) else []
        return fresh
