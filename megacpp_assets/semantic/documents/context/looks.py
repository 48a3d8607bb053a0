"""What a passage says of the classes that it uses: which of them must be complete there, and by which members."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import NamedTuple

from megacpp_assets.semantic.documents.context.growth import ALL, Offer
from megacpp_assets.semantic.documents.context.passages import Passage, Passages
from megacpp_assets.semantic.documents.context.reaching import Reaching
from megacpp_assets.semantic.documents.items.class_names import completed_in, filled_in
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import Members
from megacpp_assets.semantic.documents.items.overrides import Overrides
from megacpp_assets.semantic.documents.items.recent import WORDS, recent
from megacpp_assets.semantic.documents.items.words import without_comments, words_of

_RANGE_FOR = re.compile(r"\bfor\s*+\([^;(){}]*[^;(){}:]:(?!:)")
_RANGE = frozenset({"begin", "end"})
"""The functions of a range that a loop calls."""
_ITERATED = frozenset({"operator!=", "operator*", "operator++"})
"""The functions of an iterator that a loop calls."""
_INSERTED = frozenset({"value_type"})
_NO_NAMES: frozenset[str] = frozenset()
_ALIAS = re.compile(r"using\s+\w+\s*=[^*&;]*;")
"""A member that is another name of a class."""
_CHAINED = re.compile(r"\)\s*+(?:->|\.)\s*+[A-Za-z_]")
"""A member of what a call returns."""
_ACCESSED = re.compile(r"(?:\.|->)\s*+([A-Za-z_]\w*+)")
"""A member of an object, by its name."""


class ClassUse(NamedTuple):
    """A class that a passage uses, how often, its members that the passage uses, each with how often, and whether the
    class must be complete there."""

    item: Item
    uses: int
    offers: Sequence[tuple[Offer, int]]
    is_complete: bool


class Look(NamedTuple):
    """The classes that a passage uses, those that functions which it calls take or return by value, the virtual
    functions that a class overrides which a macro in the passage defines, and the names of functions that it calls
    without naming them."""

    classes: Sequence[ClassUse]
    passed: Sequence[Item]
    overridden: Sequence[Offer]
    implied: AbstractSet[str]


class Looks:
    """What the passages of one repository say of classes."""

    def __init__(
        self, items: Items, members: Members, passages: Passages, reaching: Reaching, overrides: Overrides
    ) -> None:
        self._items = items
        self._members = members
        self._passages = passages
        self._reaching = reaching
        self._overrides = overrides
        self.declaring = recent(self._declared_by)
        """The numbers of the members that declare each entity of a class; ALL for an enumeration."""
        self._is_template = recent(self._begins_template)
        self._in_macros = recent(self._in_macros_of)
        self._in_macro = recent(self._in_macro_of)
        self.of = recent(self._of)
        """What a passage says of classes."""
        self.constructors = recent(self._constructors_of)
        """The constructors of a class template, which convert what is passed by value."""
        self._filled_in = recent(filled_in, WORDS)
        self._returned = recent(self._classes_returned)
        self._passed_to_function = recent(self._passed_to_function_of)
        self.passed_to = recent(self._passed_to_member)
        """The classes that a member function takes or returns by value."""

    def _of(self, passage: Passage) -> Look:
        wanted, text = self._passages.wanted(passage), self._passages.text(passage)
        reached = self._reaching.targeted(self._passages.targets(passage))
        holders: Counter[Item] = Counter()
        through: dict[Item, list[int]] = defaultdict(list)
        for each in self._reaching.order(reached):
            holder = self._items.class_of(each[0])
            if holder is not None and holder != self._items.of[passage.unit[0]]:
                holders[holder] += reached[each].total()
                through[holder].append(each[0])
        looks: list[ClassUse] = []
        implied, is_chained = _implied(text), _CHAINED.search(text) is not None
        complete = self._items.complete_in(text, chain.from_iterable(through.values()))
        for used, uses in holders.items():
            offers = list(self._members_used(used, wanted))
            completed = [each for each in through[used] if each in complete]
            is_complete = bool(completed)
            more = self._unnamed(used, text, implied, is_complete=is_complete or bool(offers))
            looks.append(ClassUse(used, uses, [*offers, *((Offer(used, each), 0) for each in more)], is_complete))
            # A template may look into its arguments, which only a typedef names; `made()->used()` into what is made.
            arguments = chain.from_iterable(self._items.classes_of(each)[1:] for each in completed)
            returned = chain.from_iterable(self._returned(offer) for offer, _ in offers) if is_chained else ()
            looks += [ClassUse(each, 0, (), True) for each in dict.fromkeys((*arguments, *returned))]
        looks += self._of_fields(self._items.of[passage.unit[0]], text)
        macros = self._in_macros(self._items.of[passage.unit[0]])
        passed, overridden = list(self._passed(passage)), list(self._overridden(passage, holders))
        return Look([*looks, *macros], passed, overridden, implied | _ITERATED if _RANGE <= implied else implied)

    def _unnamed(self, used: Item, text: str, implied: AbstractSet[str], *, is_complete: bool) -> Iterable[int]:
        """Return the members of a class that `text` needs and does not name."""
        of_template = self._of_template(used, text) if is_complete else ()
        made = self._overrides.named(used, self._constructed(used, text))
        return dict.fromkeys(
            (*self._implied_of(used, implied, is_complete=is_complete), *of_template, *made, *self.filled(used, text))
        )

    def _implied_of(self, used: Item, implied: AbstractSet[str], *, is_complete: bool) -> Iterable[int]:
        """Return the members of a class that have one of the names `implied`."""
        if not implied:
            return ()
        called = self._overrides.named(used, implied)
        is_range = _RANGE <= self._overrides.called(used, called)
        types = self._named_in(implied, used) if is_complete else ()
        return (*(called if is_complete or is_range else ()), *types)

    def _constructed(self, used: Item, text: str) -> AbstractSet[str]:
        """Return the name of the constructors of a class if `text` instantiates one: `template Box::Box(int *);`."""
        if text.endswith("}") or "::" not in text:
            return _NO_NAMES
        return frozenset(name for name in self._items.defined(used[0]) if f"{name}::{name}(" in text)

    def _of_template(self, used: Item, text: str) -> Sequence[int]:
        """Return the members of a class template that `text` names, and its constructors. In the code of templates
        libclang has no references to them."""
        if not self._is_template(used[0]):
            return ()
        return self._overrides.named(used, {*_ACCESSED.findall(text), *self._items.defined(used[0])})

    def _begins_template(self, number: int) -> bool:
        return "template" in self._items.signature_text(number)

    def _of_fields(self, item: Item, text: str) -> Iterator[ClassUse]:
        """Yield the class templates of the fields of a class template with the members that `text` names, which is of
        that class or of a method of it. The text may not name those templates."""
        owner = item if self._items.head_chars(item) else self._items.holder(item)
        is_template = owner is not None and self._is_template(owner[0])
        for used in self._members.completes(owner, None) if owner is not None and is_template else ():
            if found := self._of_template(used, text):
                yield ClassUse(used, 0, [(Offer(used, number), 0) for number in found], True)

    def filled(self, used: Item, text: str) -> Sequence[int]:
        """Return the fields of a class without constructors if `text` gives them in braces."""
        excerpt, names = self._members.of(used), self._items.defined(used[0])
        if excerpt is None or names.isdisjoint(self._filled_in(text)):
            return ()
        if any(member.called in names for member in excerpt.members if member.called):
            return ()
        return [number for number, member in enumerate(excerpt.members) if not member.called and not member.is_friend]

    def _in_macros_of(self, item: Item) -> Sequence[ClassUse]:
        """Return the classes that must be complete where the macros of an item stand, with the members that they name.

        No text of the item names them, so they count no uses.
        """
        found: dict[Item, set[int]] = defaultdict(set)
        for macro in filter(self._items.is_macro, self._members.reached(item)):
            for used, numbers in self._in_macro(macro):
                found[used] |= numbers
        return [
            ClassUse(used, 0, [(Offer(used, number), 0) for number in sorted(numbers)], True)
            for used, numbers in found.items()
        ]

    def _in_macro_of(self, macro: int) -> Sequence[tuple[Item, AbstractSet[int]]]:
        """Return the same of one macro: the classes, each with the members that the text of the macro names, or
        gives in braces."""
        text, words = self._items.text(self._items.of[macro]), self._items.words(macro)
        targets = [target for target in self._items.used(macro) if self._items.is_complete_in(text, target)]
        classes = dict.fromkeys(map(self._items.class_of, targets))
        return [
            (used, {*self._named_in(words, used), *self.filled(used, text)}) for used in classes if used is not None
        ]

    def _named_in(self, words: AbstractSet[str], used: Item) -> AbstractSet[int]:
        """Return the members of a class that one of `words` names."""
        excerpt = self._members.of(used)
        members = enumerate(excerpt.members if excerpt else ())
        return {number for number, member in members if member.is_named_by(words, has_code=True)}

    def _overridden(self, passage: Passage, classes: Iterable[Item]) -> Iterator[Offer]:
        """Yield the virtual functions of `classes` and of their bases that a macro named by `passage` overrides.

        The macro begins a class, as TEST_F(Fixture, name) does, which no text shows.
        """
        names = self._overrides.in_macros(self._items.of[passage.unit[0]])
        for base in self._overrides.with_bases(classes) if names else ():
            yield from (Offer(base, number) for number in self._overrides.virtual(base, names))

    def _constructors_of(self, used: Item) -> Sequence[int]:
        return self._of_template(used, "")

    def _passed(self, passage: Passage) -> Iterator[Item]:
        """Yield the classes that functions outside of classes take or return by value, of those that `passage` uses."""
        for target in dict.fromkeys(target for _, used in self._passages.targets(passage) for target in used):
            yield from self._passed_to_function(target)

    def _passed_to_function_of(self, target: int) -> Sequence[Item]:
        """Return the classes that chunk `target` takes or returns by value if it is a function."""
        if not self._items.is_function(target):
            return ()
        text = self._items.signature_text(target)
        named = self._items.named(target) if text else self._items.used(target)
        return list(self._by_value(text or self._items.text(self._items.of[target]), named))

    def _passed_to_member(self, offer: Offer) -> Sequence[Item]:
        """Return the classes that a member function takes or returns by value."""
        excerpt = self._members.of(offer.item)
        if excerpt is None or offer.number < 0 or not excerpt.members[offer.number].called:
            return ()
        text = self._members.text(offer.item, excerpt.members[offer.number].span)
        plain, _ = completed_in(text)
        found = [*self._by_value(text, self._members.needs(offer.item, offer.number))]
        for number in sorted(self._members.with_named(offer.item, offer.number)):
            if number >= 0 and not excerpt.members[number].called and excerpt.members[number].names & plain:
                found += self._aliased(offer.item, number)
        return found

    def _classes_returned(self, offer: Offer) -> Sequence[Item]:
        """Return the classes that the type of a member function names, of pointers and references too."""
        excerpt = self._members.of(offer.item)
        if excerpt is None or offer.number < 0 or not (called := excerpt.members[offer.number].called):
            return ()
        text = without_comments(self._members.text(offer.item, excerpt.members[offer.number].span))
        words = words_of(text.partition(f"{called}(")[0])
        named = self._members.needs(offer.item, offer.number)
        found = (self._items.class_of(each) for each in named if not words.isdisjoint(self._items.defined(each)))
        return [each for each in found if each is not None and each != offer.item]

    def _aliased(self, item: Item, number: int) -> Iterator[Item]:
        """Yield the classes for which a member of a class is another name, as in `using iterator = appender;`."""
        if excerpt := self._members.of(item):
            text = without_comments(self._members.text(item, excerpt.members[number].span))
            named = self._members.needs(item, number) if _ALIAS.fullmatch(text) else ()
            yield from (each for each in map(self._items.class_of, named) if each is not None)

    def _by_value(self, text: str, named: Iterable[int]) -> Iterator[Item]:
        for each in named:
            if self._items.is_complete_in(text, each):
                yield from self._items.classes_of(each)

    def _members_used(self, item: Item, wanted: Mapping[int, int]) -> Iterator[tuple[Offer, int]]:
        """Yield the members of a class that declare what is `wanted`, with their uses."""
        uses, declaring = dict[int, int](), self.declaring(item)
        for each in wanted.keys() & declaring.keys():
            for number in declaring[each]:
                uses[number] = uses.get(number, 0) + wanted[each]
        yield from ((Offer(item, number), uses[number]) for number in sorted(uses) if uses[number])

    def _declared_by(self, item: Item) -> Mapping[int, Sequence[int]]:
        excerpt, found = self._members.of(item), defaultdict[int, list[int]](list)
        for number, ids in (
            enumerate(member.ids for member in excerpt.members) if excerpt else [(ALL, self._members.declared(item))]
        ):
            for each in ids:
                found[each].append(number)
        return found


def _implied(text: str) -> AbstractSet[str]:
    """Return the names of the members that `text` uses without naming them: in `for (each : all)`, and of the container
    of an insert iterator."""
    return (_RANGE if _RANGE_FOR.search(text) else _NO_NAMES) | (_INSERTED if "inserter" in text else _NO_NAMES)
