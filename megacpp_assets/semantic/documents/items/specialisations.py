"""Finds the specialisations of class templates. No reference says which of them a compiler takes, so all that are short
come with the template: `is_string<T>` means `false_type` without them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.graph.repository import Repository

_CLASS = re.compile(r"\b(?:class|struct|union)\b.*", re.S)
_MOST = 600
"""The specialisations that come with a template have at most so many characters together."""


class Specialisations:
    """The specialisations of the class templates of one repository."""

    def __init__(self, repository: Repository, items: Items) -> None:
        self._repository = repository
        self._items = items
        self.of = recent(self._of)
        """The specialisations of a class template in its file, the first ones if they are long together."""

    def _of(self, item: Item) -> Sequence[Item]:
        if not self._is_template(item) or self._specialises(item):
            return ()
        found: list[Item] = []
        room, node = _MOST, self._repository.nodes[item[0]]
        for other in self._items.classes.beside(node.chunk.name, node.file):
            if self._is_template(other) and self._specialises(other):
                room -= self._items.declared_chars(other)
                if room < 0:
                    break
                found.append(other)
        return found

    def _is_template(self, item: Item) -> bool:
        return bool(self._items.head_chars(item)) and "template" in self._items.signature_text(item[0])

    def _specialises(self, item: Item) -> bool:
        """Return whether the head of a class gives its template arguments, as `struct hash<T *>`."""
        head = _CLASS.search(self._items.signature_text(item[0]))
        name = self._repository.nodes[item[0]].chunk.name.rpartition("::")[2]
        return head is not None and re.search(rf"\b{re.escape(name)}\s*<", head[0].partition(":")[0]) is not None
