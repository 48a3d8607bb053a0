"""Finds what the chunks of a repository reach: the items that they name, in the order of their worth."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from megacpp_assets.semantic.documents.context.growth import SEPARATOR_CHARS
from megacpp_assets.semantic.documents.context.substitutes import Substitutes
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.graph.repository import Repository

Target = tuple[int, int, bool]
"""A chunk that another one uses: the first chunk of its item, the chunk, and whether the other one names it."""
_LONGEST_EXPANSION = 600
"""The maximum number of characters of what a macro names that counts as named where the macro is."""


class Reaching:
    """What the items of one repository name in the forms in which they may be shown."""

    def __init__(self, repository: Repository, items: Items) -> None:
        self._repository = repository
        self._items = items
        self._substitutes = Substitutes(repository)
        self.least_chars = recent(items.least_chars)
        self.needed = recent(self._needed_by)
        """Return what the shortest form of `item` needs: the class of a method, and everything that the form names."""
        self.members_need = recent(self._needed_by_members)
        self.body_needs = recent(self._needed_by_body)
        self._targets = recent(self._targets_of)
        self._size_and_level = recent(self._size_and_level_of)
        self._by_macros = recent(self._named_by_macros)
        self._of_macro = recent(self._named_by_macro)

    def _needed_by(self, item: Item) -> list[Item]:
        """Return what the shortest form of `item` needs: the class of a method, and everything that the form names."""
        holder = self._items.holder(item)
        leads = [-1 - item[0]] if self._items.head_chars(item) else self._short_leads(item)
        return [*([] if holder is None else [holder]), *self.order(self.reached(leads))]

    def _needed_by_members(self, item: Item) -> list[Item]:
        return self.order(self.reached(self._short_leads(item)))

    def _needed_by_body(self, number: int) -> list[Item]:
        return self.order(self.reached([number]))

    def order(self, reached: Mapping[Item, Counter[int]]) -> list[Item]:
        """Return the items in the order of their uses divided by their length, highest first. Of equal ones, the lowest
        level comes first.
        """
        ranks: list[tuple[float, int, Item]] = []
        for item, uses in reached.items():
            chars, level = self._size_and_level(item)
            ranks.append((-uses.total() / chars, level, item))
        return [item for _, _, item in sorted(ranks)]

    def _size_and_level_of(self, item: Item) -> tuple[int, int]:
        return self.least_chars(item) + SEPARATOR_CHARS, self._repository.unit_level(item)

    def reached(self, frontier: Iterable[int]) -> Mapping[Item, Counter[int]]:
        """Return the chunks one edge away, by item, each with the number of chunks that use it by its name. Chunks that
        only the expansion of a macro or a conversion uses come last, because nobody reads their names. -1 - n means the
        signature of n.
        """
        return self.targeted((number, self._used_by(number)) for number in frontier)

    def _used_by(self, number: int) -> Sequence[int]:
        return self._items.used(number) if number >= 0 else self._items.named(-1 - number)

    def targeted(self, targets: Iterable[tuple[int, Sequence[int]]]) -> Mapping[Item, Counter[int]]:
        """Return the same for `targets`: chunks, each with the chunks that it uses."""
        reached: dict[Item, Counter[int]] = defaultdict(Counter)
        for number, used in targets:
            for item, target, by_name in self._targets(number, tuple(used)):
                reached[item][target] += by_name
        return reached

    def targets(self, number: int) -> Iterator[Target]:
        """Return what a chunk uses. -1 - n means the signature of chunk n."""
        return self.targets_among(number, self._used_by(number))

    def targets_among(self, number: int, used: Sequence[int]) -> Iterator[Target]:
        """Return those of the chunks `used` that a chunk uses."""
        return ((item[0], target, is_named) for item, target, is_named in self._targets(number, tuple(used)))

    def _targets_of(self, number: int, used: Sequence[int]) -> Sequence[tuple[Item, int, bool]]:
        """Return the chunks that a chunk uses, but for substitutes of the standard's, each with its item, and whether
        the chunk names it."""
        return [
            (
                self._items.of[target],
                target,
                number < 0 or self._items.spells(number, target) or target in self._by_macros(number),
            )
            for target in used
            if not self._substitutes.has(target)
        ]

    def _named_by_macros(self, number: int) -> AbstractSet[int]:
        """Return the chunks that the macros in chunk `number` name, and the macros whose names they make there."""
        spelled = self._repository.spelled[number]
        macros = [target for target in self._items.used(number) if self._items.is_macro(target)]
        pasted = {macro for macro in macros if macro in spelled}
        return pasted.union(*map(self._of_macro, macros))

    def _named_by_macro(self, macro: int) -> AbstractSet[int]:
        """Return the chunks that a macro, and those in its text, name; nothing if they take too much room.

        All of them are needed, so that a few of many would be bought in vain.
        """
        found, pending = {macro}, [macro]
        while pending:
            fresh = set(self._repository.spelled[pending.pop()]) - found
            found |= fresh
            pending += filter(self._items.is_macro, fresh)
        chars = sum(map(self.least_chars, {self._items.of[number] for number in found}))
        return found if chars <= _LONGEST_EXPANSION else frozenset()

    def by_use(self, chunks: Iterable[int]) -> list[Item]:
        """Return the items of `chunks`, but for substitutes of the standard's, in the order of their uses."""
        reached: dict[Item, Counter[int]] = defaultdict(Counter)
        for number in chunks:
            if not self._substitutes.has(number):
                reached[self._items.of[number]][number] += 1
        return self.order(reached)

    def _short_leads(self, item: Item) -> list[int]:
        """Return the chunks of an item, with -1 - number for those of which only the signature is shown."""
        return [*self._items.shown(item, ()), *(-1 - number for number in self._items.bodies(item))]
