"""Shows context: an item in one of its forms together with everything that this form needs, or not at all.

A closure is a form with the declarations that it names. Classes that must be complete are in it as definitions: bases,
types of fields and of variables, and classes whose members a body uses.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from megacpp_assets.semantic.documents.context.evaluated import Evaluated
from megacpp_assets.semantic.documents.context.growth import (
    ALL,
    HEAD,
    LONGEST_STAND_IN,
    LONGEST_UNSEEN,
    SEPARATOR_CHARS,
    SHORT_CLASS,
    Closure,
    Growth,
    Offer,
)
from megacpp_assets.semantic.documents.context.looks import Looks
from megacpp_assets.semantic.documents.context.passages import Passage, Passages, bodies_in
from megacpp_assets.semantic.documents.context.permissions import Permissions
from megacpp_assets.semantic.documents.context.reaching import Reaching
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import OPENING, Members
from megacpp_assets.semantic.documents.items.overrides import Overrides
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.items.words import without_comments

_EXPANSION = re.compile(r"\s*+(?:[A-Z_][A-Z0-9_]*+\s++){0,4}[A-Z_][A-Z0-9_]*+\s*+\([^{}]*\)\s*+;?+\s*+\Z")
"""A declaration that is only the call of a macro, perhaps behind others as `EXPORT`. No other text shows which members
its code uses. Possessive: long white space is read once."""
_NOTHING: frozenset[int] = frozenset()
Buy = Callable[[Offer, float], list[Item]]
"""Shows an offer that explains so many uses; which items are new."""


class Purchases:
    """What may be shown of the items of one repository, with everything that this needs."""

    def __init__(
        self,
        items: Items,
        members: Members,
        passages: Passages,
        reaching: Reaching,
        evaluated: Evaluated,
    ) -> None:
        self._templates = members.templates
        self._items = items
        self._members = members
        self._overrides = Overrides(items, members)
        self._passages = passages
        self._reaching = reaching
        self._bases = recent(self._bases_of)
        self._has_code = recent(self._has_code_in_declaration)
        self._is_alone = recent(self._is_shown_alone)
        self.permissions = Permissions(items, members, passages, reaching)
        self._bodies = recent(partial(bodies_in, members))
        self._members_need = recent(self._needed_by_members)
        self._shortest = recent(self._shortest_of)
        self._looks = Looks(items, members, passages, reaching, self._overrides)
        self._evaluated = evaluated

    def buy(self, offer: Offer, growth: Growth, uses: float) -> list[Item]:
        """Show an offer with all that it needs, if that is worth its price and fits; which items are new."""
        least = self._least_chars(offer)
        if growth.declares(offer) or not growth.prices.is_affordable(growth.worth(uses, least), least):
            return []
        trial = growth.trial()
        fresh = self.show(offer, trial)
        return fresh if growth.accept(trial, uses) else []

    def _least_chars(self, offer: Offer) -> int:
        """Return characters that an offer takes at least. Most offers are too dear by these already."""
        excerpt = self._members.of(offer.item) if offer.number >= 0 else None
        return excerpt.members[offer.number].chars if excerpt else 0

    def show(self, offer: Offer, growth: Growth) -> list[Item]:
        """Show an offer, and what it needs as far as there is room; which items are new."""
        if growth.declares(offer):
            return []
        if not self.take(closure := self._offered(offer, growth), growth):
            return []
        return [*closure.items, *self._note(offer, growth)]

    def show_macro_alone(self, item: Item, chars: int, growth: Growth, uses: float) -> None:
        """Show the macros of `item`, of so many characters, without what they expand to, if that is worth its price."""
        if item in growth.context.distance or self.permissions.is_refused(item, growth.limits):
            return
        trial = growth.trial()
        if self.take(Closure((item,), chars, item[1] - item[0]), trial):
            growth.accept(trial, uses)

    def take(self, closure: Closure, growth: Growth) -> bool:
        """Show `closure` if there is room for all of it, and what its variables and macro calls need complete."""
        if not growth.take(closure):
            return False
        for item in closure.items:
            growth.context.distance[item] = growth.distance
            growth.context.whole[item] = _NOTHING
            if self._items.head_chars(item):
                growth.context.heads.add(item)
        for item in closure.items:
            if not self._is_alone(item):
                self._show_with(item, growth)
        return True

    def _is_shown_alone(self, item: Item) -> bool:
        """Return whether an item needs nothing but what is in its closure."""
        is_more = self._items.is_variable(item) or self._items.is_unnamed(item) or self._has_code(item)
        return not (is_more or self._members.qualified_by(item) or self._templates.ahead(item))

    def _show_with(self, item: Item, growth: Growth) -> None:
        """Show what an item needs complete: a variable, a class without a name of its own, code without a signature, or
        a declaration that names members of classes; and the declaration ahead of a class template.
        """
        if self._items.is_variable(item):
            completed = self._members.completed_by(item)
            self._define(completed, growth)
            self._show_members(completed, self._passages.wanted(Passage(item)), growth)
            text = self._items.text(item)
            for holder in completed:
                for number in self._looks.filled(holder, text):
                    self.show(Offer(holder, number), growth)
            self._declare_in_class(item, growth)
            for number in self._evaluated.of(Passage(item)):
                self._show_evaluated(number, growth)
        elif self._items.is_unnamed(item):
            self._define(self._members.completed_by(item), growth)
        if (ahead := self._templates.ahead(item)) is not None:
            self.show(Offer(ahead, HEAD), growth)
        if self._has_code(item):
            self.look_into(Passage(item), growth, lambda offer, _: self.show(offer, growth))
        for holder, number in self._members.qualified_by(item):
            self.show(Offer(holder, HEAD), growth)
            self.show(Offer(holder, number), growth)

    def _show_evaluated(self, number: int, growth: Growth) -> list[Item]:
        """Show the body of function `number`, which a constant or a static assertion calls; which items are new."""
        item = self._items.of[number]
        fresh = self.show(Offer(item, HEAD), growth)
        if self.may_show_bodies(item, growth) and number not in growth.context.whole[item]:
            fresh += [item, *self.show_body(item, number, growth)]
        return fresh

    def _has_code_in_declaration(self, item: Item) -> bool:
        """Return whether no form of an item is without code: a call of a macro, or a function that a macro names, which
        has no signature."""
        text = self._items.text(item)
        is_headless = text.endswith("}") and self._items.is_function(item[0]) and not self._items.bodies(item)
        return is_headless or _EXPANSION.match(without_comments(text)) is not None

    def _declare_in_class(self, item: Item, growth: Growth) -> None:
        """Show the declaration of a static member in its class, which its definition `item` needs."""
        if (holder := self._items.holder(item)) is not None:
            self._show_members([holder], Counter(self._members.own(item)), growth)

    def _show_members(self, classes: Sequence[Item], wanted: Mapping[int, int], growth: Growth) -> None:
        """Show the members of `classes` that declare what is `wanted` and that are not shown yet."""
        for offer, _, _ in list(self.members_of(classes, wanted, growth)):
            self.show(offer, growth)

    def closure(self, items: Iterable[Item], growth: Growth, chars: int = 0, chunks: int = 0) -> Closure:
        """Return `items` in their shortest form, with everything that these forms name and that is not shown yet, as
        far as there is room. The search starts with `chars` and `chunks` that are taken already.
        """
        taken: dict[Item, None] = {}
        shown, pending = growth.context.distance, deque(items)
        while pending and chars <= growth.room.chars and chunks <= growth.room.chunks:
            item = pending.popleft()
            if item in shown:
                continue
            item, own, around, count = self._shortest(item)
            if item in taken or item in shown or self.permissions.is_refused(item, growth.limits):
                continue
            taken[item] = None
            own = LONGEST_STAND_IN if self.permissions.is_partial(item, growth.limits) else own
            chars += own + SEPARATOR_CHARS + around if own else 0
            chunks += count if own else 0
            pending.extend(self._reaching.needed(item))
        return Closure(tuple(taken), chars, chunks)

    def _shortest_of(self, item: Item) -> tuple[Item, int, int, int]:
        """Return what declares an item, the characters of its shortest form and of the conditions around it, and its
        chunks."""
        item = self._items.stand_in(item)
        chunks = 1 if self._items.head_chars(item) else item[1] - item[0]
        return item, self._reaching.least_chars(item), self._items.around_chars(item), chunks

    def _offered(self, offer: Offer, growth: Growth) -> Closure:
        """Return the closure of an offer: what it takes, with everything that it names."""
        item, number = offer
        if number == HEAD:
            return self.closure([item], growth)
        if not self.permissions.may_open(offer, growth):
            return Closure((), 0, 0)
        shown = growth.context.members.get(item, _NOTHING)
        if number == ALL:
            return self._opened(item, growth)
        more = self._members.with_named(item, number) - shown
        chars = self._members.chars(item, more, shown)
        named = self._members_need(item, more if shown else more | {OPENING})
        return self.closure(named, growth, chars, 0 if shown else 1 - self._chunks_of_head(item))

    def _needed_by_members(self, item: Item, numbers: frozenset[int]) -> Sequence[Item]:
        """Return what the members `numbers` of a class name."""
        return self._reaching.by_use(chunk for each in sorted(numbers) for chunk in self._members.needs(item, each))

    def _opened(self, item: Item, growth: Growth) -> Closure:
        """Return the closure of all members of a class that are not shown yet, with everything that they name."""
        shown = self._members.chars(item, growth.context.members.get(item, ()))
        more = self._items.declared_chars(item) - self._reaching.least_chars(item) - shown
        chunks = item[1] - item[0] - self._chunks_of_head(item)
        return self.closure(self._reaching.members_need(item), growth, max(0, more), chunks)

    def _chunks_of_head(self, item: Item) -> int:
        """Return chunks that the head of a class takes where no more of it is shown."""
        return int(self._reaching.least_chars(item) > 0)

    def _note(self, offer: Offer, growth: Growth) -> list[Item]:
        """Record what is shown of a class from now on, and show what it needs if it is more than its head."""
        item, number = offer
        if number == HEAD or not self.permissions.may_open(offer, growth):
            return []
        if number != ALL:
            shown = growth.context.members.get(item, _NOTHING)
            growth.context.members[item] = shown | self._members.with_named(item, number)
            fresh = [*self.show_bases(item, growth), *self._show_special(item, growth)]
            bodies = self._bodies(item)
            for each in sorted((growth.context.members[item] - shown) & bodies.keys()):
                for body in bodies[each]:
                    self._show_used(body, growth)
            return fresh
        growth.context.heads.discard(item)
        growth.context.members.pop(item, None)
        fresh = [*self.show_bases(item, growth), *self._show_special(item, growth)]
        for chunk in self._items.shown(item, ()):
            fresh += self.look_into(Passage((chunk, chunk + 1)), growth, lambda offer, _: self.show(offer, growth))
        return fresh

    def _show_special(self, item: Item, growth: Growth) -> list[Item]:
        """Show the short specialisations of a class template that is defined."""
        fresh: list[Item] = []
        for special in self._templates.specialised(item):
            if special not in growth.context.distance:
                fresh += self.show(Offer(special, HEAD), growth)
                fresh += self.show(Offer(special, ALL), growth)
        return fresh

    def _show_used(self, body: Passage, growth: Growth) -> None:
        """Show the members that a body uses, of its own class and of others. It may name none of these classes."""
        wanted, chunk = self._passages.used(body), body.unit[0]
        for holder in dict.fromkeys(map(self._items.class_of, (chunk, *self._items.used(chunk)))):
            for offer, _, _ in self._looks.members_used(holder, wanted) if holder is not None else ():
                self.show(Offer(offer.item, HEAD), growth)
                self.show(offer, growth)

    def show_bases(self, item: Item, growth: Growth) -> list[Item]:
        """Define the classes that have to be complete where a class is shown: its bases with those of their virtual
        functions that it overrides, and the types of its fields."""
        shown = growth.context.members.get(item, _NOTHING) if item in growth.context.heads else None
        bases = self._members.completes(item, shown)
        names = self._overrides.called(item, shown) if bases else frozenset[str]()
        fresh = self._define(bases, growth)
        for base in self._overrides.with_bases(bases) if names else ():
            for number in self._overrides.virtual(base, names):
                if base in growth.context.heads and number not in growth.context.members.get(base, ()):
                    fresh += self.show(Offer(base, number), growth)
        for base in bases:
            fresh += self._show_overrides(item, base, growth)
        for other, number in self._members.qualified(item, shown):
            if other in growth.context.heads and number not in growth.context.members.get(other, ()):
                fresh += self.show(Offer(other, number), growth)
        if self._overrides.is_abstract(item):
            for derived in [each for each in growth.context.members if item in self._bases(each)]:
                fresh += self._show_overrides(derived, item, growth)
        return fresh

    def _bases_of(self, item: Item) -> frozenset[Item]:
        """Return the classes that the head of `item` names."""
        return frozenset(self._members.completes(item, ())) - {item}

    def _show_overrides(self, item: Item, base: Item, growth: Growth) -> list[Item]:
        """Show what `item` overrides of the pure functions that its `base` shows: without that it has no objects."""
        fresh: list[Item] = []
        if item in growth.context.members and base in self._bases(item):
            shown = growth.context.members.get(base, _NOTHING) if base in growth.context.heads else None
            for number in self._overrides.named(item, self._overrides.pure(base, shown)):
                if number not in growth.context.members.get(item, _NOTHING):
                    fresh += self.show(Offer(item, number), growth)
        return fresh

    def _define(self, classes: Iterable[Item], growth: Growth) -> list[Item]:
        """Show `classes` as more than declarations."""
        fresh: list[Item] = []
        for item in classes:
            fresh += self.show(Offer(item, HEAD), growth)
            if item in growth.context.heads and not growth.context.members.get(item):
                fresh += self.show(self.definition(item, growth), growth)
        return fresh

    def definition(self, item: Item, growth: Growth) -> Offer:
        """Return the least that defines a class: its head without members. It is the whole class if this is short,
        cannot be cut, or has no member or no resolved use, so that nobody knows which of its members are used.
        """
        excerpt = self._members.of(item)
        most = SHORT_CLASS if excerpt and excerpt.members else LONGEST_UNSEEN
        is_short = self._items.declared_chars(item) <= most or item in self._items.unresolved()
        is_short = is_short and item not in growth.limits.barred
        return Offer(item, ALL if is_short or excerpt is None else OPENING)

    def look_into(self, passage: Passage, growth: Growth, buy: Buy) -> list[Item]:
        """Return `buy` of the classes that `passage` uses the members that it names, and the definitions of those that
        it needs complete, or that functions which it calls take or return by value.
        """
        fresh: list[Item] = []
        called: list[Offer] = []
        looks = self._looks.of(passage)
        for used, uses, offers, is_complete in looks.classes:
            fresh += buy(Offer(used, HEAD), uses)
            if used in growth.context.heads and (offers or is_complete):
                if not growth.context.members.get(used):
                    fresh += buy(self.definition(used, growth), uses)
                for offer, count in offers:
                    fresh += buy(offer, count)
                called += [offer for offer, _ in offers]
        for item in dict.fromkeys((*looks.passed, *chain.from_iterable(map(self._looks.passed_to, called)))):
            fresh += buy(Offer(item, HEAD), 1)
            if item in growth.context.heads and not growth.context.members.get(item):
                fresh += buy(self.definition(item, growth), 1)
            for number in (*self._overrides.named(item, looks.implied), *self._looks.constructors(item)):
                fresh += buy(Offer(item, number), 0) if item in growth.context.heads else []
        for offer in looks.overridden:
            fresh += buy(offer, 0) if offer.item in growth.context.heads else []
        return [*fresh, *self.show_bodies(self._evaluated.deduced(passage), growth)]

    def show_bodies(self, functions: Iterable[int], growth: Growth) -> list[Item]:
        """Show the bodies of functions without which a compiler cannot call them, each if it is worth its price; which
        items are new."""
        fresh: list[Item] = []
        for number in functions:
            trial = growth.trial()
            found = self._show_evaluated(number, trial)
            fresh += found if growth.accept(trial, 1) else []
        return fresh

    def show_class_of(self, passage: Passage, growth: Growth, buy: Buy, uses: float) -> list[Item]:
        """Show the class that the item of `passage` is defined outside of as a member: its declaration there first,
        then the members that `passage` names."""
        item = self._items.of[passage.unit[0]]
        holder = self._items.holder(item)
        if holder is None:
            return []
        fresh = self.show_class_of(Passage(holder), growth, buy, uses) if self._items.is_inner(holder) else []
        fresh += buy(Offer(holder, HEAD), uses)
        for wanted in (Counter(self._members.own(item)), self._passages.used(passage)):
            for offer, _, _ in list(self.members_of([holder], wanted, growth)):
                fresh += buy(offer, uses)
        return fresh

    def may_show_bodies(self, item: Item, growth: Growth) -> bool:
        """Return whether the bodies of an item may be shown: it is shown, as more than a head, and it is not barred."""
        is_shown = item in growth.context.whole and item not in growth.context.heads
        return is_shown and item not in growth.limits.barred

    def show_body(self, item: Item, number: int, growth: Growth) -> list[Item]:
        """Show the body of chunk `number` of a shown item with all that it needs, as far as there is room; which items
        are new."""
        fresh: list[Item] = []

        def buy(offer: Offer, _: float) -> list[Item]:
            return self.show(offer, growth)

        cost, hidden = self._items.body_chars(item, number), self._items.declared_chars(item) == 0
        if hidden:
            fresh += self.show_class_of(Passage(item), growth, buy, 1)
            cost = self._items.whole_chars(item) + SEPARATOR_CHARS + self._items.around_chars(item)
        closure = self.closure(self._reaching.body_needs(number), growth, cost, int(hidden))
        if self.take(closure, growth):
            growth.context.whole[item] |= {number}
            fresh += [*closure.items, *self.look_into(Passage((number, number + 1)), growth, buy)]
        return fresh

    def members_of(
        self, items: Iterable[Item], wanted: Mapping[int, int], growth: Growth
    ) -> Iterator[tuple[Offer, int, int]]:
        """Yield the members of the classes among `items` that declare what is `wanted`, with their uses and characters;
        of an enumeration, which has no excerpts, all together.
        """
        for item in growth.context.heads.intersection(items) if wanted else ():
            yield from self._looks.members_used(item, wanted)
