"""What the native search for context asks about the items of a repository. It keeps the answers.

An item is named by its first chunk, a passage by its five values, a class that does not exist by -1.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.documents.context.evaluated import Evaluated
from megacpp_assets.semantic.documents.context.growth import Offer
from megacpp_assets.semantic.documents.context.looks import Looks
from megacpp_assets.semantic.documents.context.passages import Passage, Passages, bodies_in
from megacpp_assets.semantic.documents.context.permissions import Permissions
from megacpp_assets.semantic.documents.context.reaching import Reaching, Target
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import CLOSING, Members
from megacpp_assets.semantic.documents.items.mentions import Mentions
from megacpp_assets.semantic.documents.items.overrides import Overrides
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.items.stand_ins import StandIns
from megacpp_assets.semantic.documents.items.words import without_comments
from megacpp_assets.semantic.graph.link import CALL_EDGE
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.words.aliases import DIRECTIVE

_EXPANSION = re.compile(r"\s*+(?:[A-Z_][A-Z0-9_]*+\s++){0,4}[A-Z_][A-Z0-9_]*+\s*+\([^{}]*\)\s*+;?+\s*+\Z")
"""A declaration that is only the call of a macro, perhaps behind others as `EXPORT`. No other text shows which members
its code uses. Possessive: long white space is read once."""
_NONE = -1
_Place = tuple[int, int, int, int, int]
"""The values of a passage: its chunks, its characters and where its first member begins."""


class Company(NamedTuple):
    """What an item needs shown with it beyond what its text names.

    A variable and a class that only a typedef names need the classes `completed`; a variable needs also the members of
    these that it has `wanted` or `filled`, the declaration of the members that are its `own` in the class `holder`, and
    the `evaluated` functions with their bodies. A class template has a declaration `ahead`. A declaration may name
    members of classes, `qualified`.
    """

    is_variable: bool
    is_unnamed: bool
    has_code: bool
    completed: Sequence[int]
    wanted: Mapping[int, int]
    filled: Sequence[tuple[int, int]]
    holder: int
    own: Mapping[int, int]
    evaluated: Sequence[int]
    ahead: int
    qualified: Sequence[tuple[int, int]]


class ContextFacts:
    """Answers what the search asks about one repository."""

    def __init__(
        self, repository: Repository, items: Items, members: Members, mentions: Mentions, stand_ins: StandIns
    ) -> None:
        self._repository = repository
        self._stand_ins = stand_ins
        self._items = items
        self._members = members
        self.passages = Passages(repository, items, mentions)
        self._reaching = Reaching(repository, items)
        self._overrides = Overrides(items, members)
        self._looks = Looks(items, members, self.passages, self._reaching, self._overrides)
        self._evaluated = Evaluated(repository, items, self.passages)
        self.permissions = Permissions(repository, items, members, self.passages)
        self._calling = recent(self._callers)
        self._is_directive = recent(self._is_using_directive)
        """Whether a chunk is a using-directive."""

    def columns(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the first chunk and the end of the item of each chunk."""
        ranges = np.array(self._items.of, dtype=np.int32).reshape(-1, 2)
        return np.ascontiguousarray(ranges[:, 0]), np.ascontiguousarray(ranges[:, 1])

    def _of(self, first: int) -> Item:
        return self._items.of[first]

    def shortest(self, first: int) -> tuple[int, int, int, int, bool]:
        """Return what declares an item, the characters of its shortest form and of the conditions around it, its
        chunks, and whether it is the head of a class."""
        item = self._stand_ins.of(self._of(first))
        is_head = self._items.head_chars(item) > 0
        chunks = 1 if is_head else item[1] - item[0]
        return item[0], self._items.least_chars(item), self._items.around_chars(item), chunks, is_head

    def lengths(self, first: int) -> tuple[int, int, int, int, int]:
        """Return the characters of an item in its shortest form, declared, and as it is; those of the conditions around
        it; and its dependency level."""
        item, items = self._of(first), self._items
        chars = items.least_chars(item), items.declared_chars(item), items.whole_chars(item), items.around_chars(item)
        return *chars, self._repository.unit_level(item)

    def needed(self, first: int) -> Iterator[int]:
        """Return the items that the shortest form of an item needs."""
        return _firsts(self._reaching.needed(self._of(first)))

    def members_need(self, first: int) -> Iterator[int]:
        """Return the items that an item names outside of its bodies."""
        return _firsts(self._reaching.members_need(self._of(first)))

    def body_needs(self, number: int) -> Iterator[int]:
        """Return the items that a chunk names."""
        return _firsts(self._reaching.body_needs(number))

    def body_chars(self, number: int) -> int:
        """Return the characters that the body of a chunk adds."""
        return self._items.body_chars(self._of(number), number)

    def chunk_chars(self, number: int) -> int:
        """Return the characters of a chunk."""
        return self._items.whole_chars((number, number + 1))

    def bodies(self, first: int) -> Sequence[int]:
        """Return the chunks of an item with bodies that can be left out."""
        return self._items.bodies(self._of(first))

    def is_unusable(self, first: int, is_c: bool) -> bool:
        """Return whether no document, or none in C, can show an item."""
        return self.permissions.is_unusable(self._of(first), is_c)

    def has_partial(self, first: int) -> bool:
        """Return whether an item can be shown in part although nothing shorter declares it."""
        return self._members.partial(self._of(first)) is not None

    def is_unresolved(self, first: int) -> bool:
        """Return whether other files name a class only in text that the parser does not resolve."""
        return self._of(first) in self._items.unresolved()

    def is_macro(self, first: int) -> bool:
        """Return whether an item has nothing but macros."""
        return all(map(self._items.is_macro, range(*self._of(first))))

    def asked_around(self, first: int) -> tuple[Sequence[int], Sequence[int]]:
        """Return the macros on which the conditions around a macro depend, and those that the conditions call."""
        node = self._repository.nodes[first]
        around = self._repository.directives.around(node.file, node.chunk.start)
        asked = frozenset[str]().union(*(condition.asked() for condition in around))
        called = asked & frozenset[str]().union(*(condition.called() for condition in around))
        used = [target for target in self._items.used(first) if self._items.is_macro(target)] if asked else []
        found = (
            [each for each in used if not names.isdisjoint(self._items.defined(each))] for names in (asked, called)
        )
        all_asked, all_called = (list(dict.fromkeys(self._items.of[each][0] for each in every)) for every in found)
        return all_asked, all_called

    def holder(self, first: int) -> tuple[int, bool]:
        """Return the class of a member that is defined outside of it, and whether that is a member of another one."""
        holder = self._items.holder(self._of(first))
        return _first(holder), holder is not None and self._items.is_inner(holder)

    def own(self, first: int) -> Mapping[int, int]:
        """Return the entity of the member that an item defines outside of its class."""
        return Counter(self._members.own(self._of(first)))

    def is_alone(self, first: int) -> bool:
        """Return whether an item needs nothing but what its shortest form names."""
        item = self._of(first)
        is_more = self._items.is_variable(item) or self._items.is_unnamed(item) or self._has_code(item)
        return not (is_more or self._members.qualified_by(item) or self._members.templates.ahead(item))

    def company(self, first: int) -> Company:
        """Return what an item needs shown with it."""
        item = self._of(first)
        is_variable, is_unnamed = self._items.is_variable(item), self._items.is_unnamed(item)
        completed = self._members.completed_by(item) if is_variable or is_unnamed else []
        text = self._items.text(item) if is_variable else ""
        filled = [(holder[0], each) for holder in completed for each in self._looks.filled(holder, text) if is_variable]
        return Company(
            is_variable,
            is_unnamed,
            self._has_code(item),
            [*_firsts(completed)],
            self.passages.wanted(Passage(item)) if is_variable else {},
            filled,
            _first(self._items.holder(item)) if is_variable else _NONE,
            self.own(first) if is_variable else {},
            self._evaluated.of(Passage(item)) if is_variable else (),
            _first(self._members.templates.ahead(item)),
            [(other[0], number) for other, number in self._members.qualified_by(item)],
        )

    def _has_code(self, item: Item) -> bool:
        """Return whether no form of an item is without code: a call of a macro, or a function that a macro names, which
        has no signature."""
        text = self._items.text(item)
        is_headless = text.endswith("}") and self._items.is_function(item[0]) and not self._items.bodies(item)
        return is_headless or _EXPANSION.match(without_comments(text)) is not None

    def excerpt(self, first: int) -> tuple[int, Sequence[tuple[int, int, str, str, bool]]] | None:
        """Return the characters of a class's head with its brace beyond its shortest form, and its members: the
        characters of each and of its access label, the label, the name of a function, and whether that is virtual."""
        item = self._of(first)
        excerpt = self._members.of(item)
        if excerpt is None:
            return None
        names = self._items.names_behind(item)
        closing = len(CLOSING) + (names.char_end - names.char_start + 1 if names else 0)
        opening = excerpt.opening.char_end - excerpt.opening.char_start - self._items.least_chars(item) + closing
        members = [
            (each.chars, len(each.label) + 3, each.label, each.called, each.is_virtual) for each in excerpt.members
        ]
        return opening, members

    def declaring(self, first: int) -> Mapping[int, Sequence[int]]:
        """Return for each entity that a class declares the members that declare it."""
        return self._looks.declaring(self._of(first))

    def pure(self, first: int) -> Sequence[Iterable[str]]:
        """Return the names of the pure virtual functions that each member of a class declares."""
        return self._overrides.pure(self._of(first))

    def completing(self, first: int) -> Iterator[tuple[int, Iterator[int]]]:
        """Yield the classes that the head and the members of a class need complete, by the number of the member."""
        found = self._members.completing(self._of(first))
        return ((number, _firsts(classes)) for number, classes in found.items())

    def inside(self, first: int) -> Iterator[tuple[int, Iterator[tuple[int, int]]]]:
        """Yield the members of other classes that each member of a class names, by its number."""
        found = self._members.inside(self._of(first))
        return ((number, ((other[0], each) for other, each in named)) for number, named in found.items())

    def with_named(self, first: int, number: int) -> Sequence[int]:
        """Return a member of a class with the others that its declaration names."""
        return sorted(self._members.with_named(self._of(first), number))

    def named_by(self, first: int, numbers: Iterable[int]) -> Iterator[int]:
        """Return the items that members of a class name."""
        item = self._of(first)
        return _firsts(self._reaching.by_use(chunk for each in numbers for chunk in self._members.needs(item, each)))

    def specialised(self, first: int) -> Iterator[int]:
        """Return the short specialisations of a class template."""
        return _firsts(self._members.templates.specialised(self._of(first)))

    def bodies_within(self, first: int) -> Iterator[tuple[int, Sequence[_Place]]]:
        """Yield the members of a class that are shown with bodies, with the passages of these, by number."""
        found = bodies_in(self._members, self._of(first))
        return ((number, [_place(each) for each in found[number]]) for number in sorted(found))

    def used_classes(self, number: int) -> Iterator[int]:
        """Return the class of a chunk and those that it uses."""
        classes = dict.fromkeys(map(self._items.class_of, (number, *self._items.used(number))))
        return _firsts(each for each in classes if each is not None)

    def constructors(self, first: int) -> Sequence[int]:
        """Return the constructors of a class template."""
        return self._looks.constructors(self._of(first))

    def passed_to(self, first: int, number: int) -> Iterator[int]:
        """Return the classes that a member function takes or returns by value."""
        return _firsts(self._looks.passed_to(Offer(self._of(first), number)))

    def look(
        self, place: _Place
    ) -> tuple[
        Sequence[tuple[int, int, Sequence[tuple[int, int]], bool]],
        Iterator[int],
        Sequence[tuple[int, int]],
        Iterable[str],
    ]:
        """Return what a passage says of classes; see `Look`."""
        look = self._looks.of(_passage(place))
        classes = [
            (each.item[0], each.uses, [(offer.number, count) for offer, count in each.offers], each.is_complete)
            for each in look.classes
        ]
        return classes, _firsts(look.passed), [(each.item[0], each.number) for each in look.overridden], look.implied

    def used(self, place: _Place) -> Mapping[int, int]:
        """Return the entities that a passage names and does not declare, each with how often."""
        return self.passages.used(_passage(place))

    def macros(self, place: _Place) -> Sequence[int]:
        """Return the macros that the text of a passage names, and the using-directives in front of it."""
        return [
            self._items.of[target][0]
            for number, used in self.passages.targets(_passage(place))
            for target in used
            if (self._items.is_macro(target) and self._items.spells(number, target)) or self._is_directive(target)
        ]

    def _is_using_directive(self, number: int) -> bool:
        node = self._repository.nodes[number]
        code = self._repository.files[node.file].source.data
        return node.chunk.kind == "preamble" and DIRECTIVE.search(code, node.chunk.start, node.chunk.end) is not None

    def evaluated(self, place: _Place) -> Sequence[int]:
        """Return the functions that the constants and assertions of a passage call, and those that these call."""
        return self._evaluated.of(_passage(place))

    def deduced(self, place: _Place) -> Sequence[int]:
        """Return the methods with deduced types that a passage calls."""
        return self._evaluated.deduced(_passage(place))

    def targets(self, number: int) -> Iterator[Target]:
        """Return what a chunk uses. -1 - n means the signature of chunk n."""
        return self._reaching.targets(number)

    def targets_in(self, place: _Place) -> list[Target]:
        """Return what a part of a root uses."""
        used = self.passages.targets(_passage(place))
        return [each for number, targets in used for each in self._reaching.targets_among(number, targets)]

    def callers(self, number: int) -> Sequence[int]:
        """Return the chunks that call a chunk."""
        return self._calling().get(number, ())

    def _callers(self) -> Mapping[int, Sequence[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for caller, edges in enumerate(self._repository.out):
            for target, edge, _ in edges:
                if edge == CALL_EDGE:
                    found[target].append(caller)
        return found


def _first(item: Item | None) -> int:
    return _NONE if item is None else item[0]


def _firsts(items: Iterable[Item]) -> Iterator[int]:
    return (item[0] for item in items)


def _place(passage: Passage) -> _Place:
    return *passage.unit, passage.start, passage.end, passage.begun


def _passage(place: _Place) -> Passage:
    return Passage(place[:2], *place[2:])
