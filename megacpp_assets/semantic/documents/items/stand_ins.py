"""Finds what declares an item of which no part is a declaration.

That is the `extern` of a long variable, and the prototype of a function that is defined outside of its namespace.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from megacpp_assets.semantic.documents.items.items import EXTERN, Item, Items
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.graph.repository import Repository

_SHORT_VARIABLE = 120
"""A variable's definition of up to so many characters is shown in place of its declaration."""


class StandIns:
    """What is shown in place of the items of one repository."""

    def __init__(self, repository: Repository, items: Items) -> None:
        self._repository = repository
        self._items = items
        self._externs = recent(self._externs_by_name)
        self._prototypes = recent(self._prototypes_by_name)
        self.of = recent(self._of)
        """The item that declares an item in its file or in a header; the item itself if it declares what it defines."""

    def _of(self, item: Item) -> Item:
        node = self._repository.nodes[item[0]]
        if node.chunk.kind == "other" and self._items.whole_chars(item) > _SHORT_VARIABLE:
            return self._nearest(item, self._externs().get(node.chunk.name, ())) or item
        if node.chunk.kind == "func_body" and self._is_outside(item):
            prototypes = self._prototypes().get(node.chunk.name, ())
            # Of several nothing says which overload is meant.
            return (self._nearest(item, prototypes) if len(prototypes) == 1 else None) or item
        return item

    def _nearest(self, item: Item, declaring: Sequence[int]) -> Item | None:
        """Return the first of the chunks `declaring` that is in the file of an item or in a header."""
        nodes, files = self._repository.nodes, self._repository.files
        own = nodes[item[0]].file
        found = (each for each in declaring if nodes[each].file == own or files[nodes[each].file].file.header)
        first = next(found, None)
        return None if first is None else self._items.of[first]

    def _is_outside(self, item: Item) -> bool:
        """Return whether a function is defined outside of its namespace: `void space::run() {}`."""
        name = self._repository.nodes[item[0]].chunk.name.rpartition("::")[2]
        return f"::{name}" in self._items.signature_text(item[0]) and self._items.holder(item) is None

    def _prototypes_by_name(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number, node in enumerate(self._repository.nodes):
            if node.chunk.kind == "func_sig" and not self._is_outside((number, number + 1)):
                found[node.chunk.name].append(number)
        return found

    def _externs_by_name(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number, item in enumerate(self._items.of):
            node = self._repository.nodes[number]
            if node.chunk.kind == "other" and node.chunk.name and item == (number, number + 1):
                text = self._items.text(item)
                if EXTERN.match(text, self._items.aside_chars(number)) and "(" not in text:
                    found[node.chunk.name].append(number)
        return found
