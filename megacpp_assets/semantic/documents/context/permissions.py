"""What the limits of a document permit: which items it may show, and how much of those that are barred."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from megacpp_assets.semantic.documents.context.growth import LONGEST_STAND_IN, Context, Limits
from megacpp_assets.semantic.documents.context.passages import Passage, Passages
from megacpp_assets.semantic.documents.context.torn import is_torn
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import OPENING, Members
from megacpp_assets.semantic.documents.items.words import without_comments
from megacpp_assets.semantic.graph.analysis.analysis import is_c as is_c_file
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import is_linkage

_CPP = re.compile(r"^[ \t]*(?:class|template|using|public|private)\b|::", re.M)


class Permissions:
    """What documents may show of the items of one repository."""

    def __init__(self, repository: Repository, items: Items, members: Members, passages: Passages) -> None:
        self._repository = repository
        self._items = items
        self._members = members
        self._passages = passages

    def is_unusable(self, item: Item, is_c: bool) -> bool:
        """Return whether no document, or none in C if `is_c`, can show an item."""
        is_part = not self._items.head_chars(item) and is_torn(self._items.text(item))
        return is_part or (is_c and self._is_cpp(item))

    def _is_cpp(self, item: Item) -> bool:
        """Return whether an item of a file in C++ is no C."""
        file = self._repository.files[self._repository.nodes[item[0]].file]
        if is_c_file(file):
            return False
        spaces = self._repository.root_around(item[0]).spaces
        is_inside = not all(is_linkage(space, file.source.text) for space in spaces)
        return is_inside or _CPP.search(without_comments(self._items.text(item))) is not None

    def _is_partial(self, item: Item, limits: Limits) -> bool:
        """Return whether a barred enumeration, or a barred struct that a typedef alone names, is shown with its used
        members: nothing shorter declares it.
        """
        is_long = item in limits.barred and self._items.declared_chars(item) > LONGEST_STAND_IN
        return is_long and item not in limits.denied and self._members.partial(item) is not None

    def show_partial(self, roots: Iterable[Passage], context: Context, limits: Limits) -> None:
        """Choose the members of the items that are shown in part: those that anything shown uses, or the first.

        A sealed item shows its first member alone: the type is declared, and nothing else of it is shown.
        """
        partial = [item for item in context.whole if self._is_partial(item, limits)]
        if not partial:
            return
        used: set[int] = set()
        for passage in (*roots, *map(Passage, context.whole)):
            used |= self._passages.wanted(passage).keys()
        for item in partial:
            excerpt = self._members.partial(item)
            members = enumerate(excerpt.members) if excerpt else ()
            named = {number for number, member in members if not used.isdisjoint(member.ids)}
            named = named if item not in limits.sealed else set()
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
