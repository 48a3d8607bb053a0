"""What pieces say and use by what they show of their items: the same in all documents, so it is found once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet

from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import OPENING, Members
from megacpp_assets.semantic.documents.items.recent import WORDS, recent
from megacpp_assets.semantic.documents.items.stand_ins import StandIns
from megacpp_assets.semantic.documents.items.statements import statements_of
from megacpp_assets.semantic.documents.text.order import Piece
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Span

_NAMING = re.compile(
    r"(?:(?:struct|union)\s+[A-Za-z_]\w*\s*;\s*)?"
    r"typedef\s+(?:struct|union)\s+([A-Za-z_]\w*)[\s*]+[A-Za-z_]\w*\s*;\s*\Z"
)
"""A typedef that declares the class that it names, perhaps behind its declaration. It needs no other one of it."""


class PieceFacts:
    """What the pieces of one repository say and use."""

    def __init__(self, repository: Repository, items: Items, members: Members, stand_ins: StandIns) -> None:
        self._repository = repository
        self._items = items
        self._members = members
        self._used = recent(self._used_by, WORDS)
        self._completed = recent(self._completed_by, WORDS)
        self._said = recent(self._said_by, WORDS)
        self._defining = recent(self._defining_of)
        self.items = recent(self._items_in)
        """The items of a unit, each once."""
        self.prototypes = recent(self._prototypes_in)
        """The names of the functions that an item declares."""
        self.named_class = recent(self._named_class_of)
        """The name of the class that a typedef declares, as `typedef struct box box;` does; "" for other items."""
        self.stand_in = stand_ins.of
        """The item that declares an item; see `StandIns`."""

    def used(self, piece: Piece) -> AbstractSet[Item]:
        """Return the items that the shown text of a piece uses, and the class outside of which it is defined."""
        return self._used(piece.item, piece.whole, piece.head, piece.members)[0]

    def stand_ins(self, piece: Piece) -> Sequence[tuple[Item, Item]]:
        """Return those of the used items that another one declares, with that."""
        return self._used(piece.item, piece.whole, piece.head, piece.members)[1]

    def completed(self, piece: Piece) -> AbstractSet[Item]:
        """Return the classes that a piece needs complete."""
        return self._completed(piece.item, piece.whole, piece.head, piece.members, piece.is_root)

    def said(self, piece: Piece) -> AbstractSet[str]:
        """Return the statements of a piece with its scopes, or those of the head of its item if that alone is shown."""
        span = None if piece.head and not piece.members else piece.span
        return self._said(piece.names, piece.item, piece.file, span)

    def defined(self, piece: Piece) -> Iterator[tuple[str, ...]]:
        """Yield what a piece defines with its scopes: heads of classes, enumerators and names of enumerations."""
        if piece.members or not piece.head:
            for name in self._defining(piece.item):
                yield (*piece.names, *name)

    def _used_by(
        self, item: Item, whole: frozenset[int], head: bool, members: tuple[int, ...]
    ) -> tuple[AbstractSet[Item], Sequence[tuple[Item, Item]]]:
        holder = self._items.holder(item)
        used = {self._items.of[target] for target in self._targets(item, whole, head, members)}
        used |= {holder} if holder is not None else set()
        pairs = ((each, self.stand_in(each)) for each in used)
        return frozenset(used), [(each, other) for each, other in pairs if other != each]

    def _targets(self, item: Item, whole: frozenset[int], head: bool, members: tuple[int, ...]) -> Iterator[int]:
        if head:
            yield from self._items.named(item[0])
            for member in (OPENING, *members) if members else ():
                yield from self._members.needs(item, member)
            return
        shown = set(self._items.shown(item, whole))
        for number in range(*item):
            yield from self._items.used(number) if number in shown else self._items.named(number)

    def _completed_by(
        self, item: Item, whole: frozenset[int], head: bool, members: tuple[int, ...], is_root: bool
    ) -> AbstractSet[Item]:
        if self._items.head_chars(item):
            if head and not members:
                return frozenset()
            return frozenset(self._members.completes(item, members if head else None))
        kind, holder = self._repository.nodes[item[0]].chunk.kind, self._items.holder(item)
        # A typedef never looks into the class that it names: the class may need the typedef's name first.
        looks_into = kind != "typedef" and (is_root or bool(whole) or kind == "other")
        targets = self._targets(item, whole, head, members) if looks_into else ()
        used: Collection[Item] = {self._declared_by(target) for target in targets}
        if self._items.is_unnamed(item) and not looks_into:
            used = self._members.completed_by(item)
        return frozenset(used) if holder is None else frozenset((*used, holder))

    def _declared_by(self, target: int) -> Item:
        """Return the item that must come before a use of chunk `target`: for a member, its class."""
        item = self._items.of[target]
        holder = self._items.holder(item)
        return item if holder is None else holder

    def _said_by(self, names: tuple[str, ...], item: Item, file: int, span: Span | None) -> AbstractSet[str]:
        """Return the words of each statement as one text, which is compared faster."""
        if span is None:
            text = self._items.head_text(item) + ";"
        else:
            text = self._repository.files[file].source.text[span.char_start : span.char_end]
        return frozenset(repr((*names, *each)) for each in statements_of(text))

    def _defining_of(self, item: Item) -> Sequence[tuple[str, ...]]:
        return [name for number in range(*item) for name in self._defined_by(number)]

    def _defined_by(self, number: int) -> Iterator[tuple[str, ...]]:
        """Yield the head of chunk `number` if it is a class, the enumerators and the names of an enumeration."""
        if self._repository.nodes[number].chunk.kind != "class_decl":
            return
        if self._members.is_enumeration(self._items.of[number]):
            yield from ((name,) for name in sorted(self._items.defined(number)) if name)
        elif head := self._items.signature_text(number).split():
            yield tuple(head)

    def _items_in(self, unit: Item) -> Sequence[Item]:
        return tuple(dict.fromkeys(self._items.of[number] for number in range(*unit)))

    def _prototypes_in(self, item: Item) -> Sequence[str]:
        chunks = (self._repository.nodes[number].chunk for number in range(*item))
        return tuple(chunk.name for chunk in chunks if chunk.kind == "func_sig")

    def _named_class_of(self, item: Item) -> str:
        named = _NAMING.match(self._items.text(item), self._items.aside_chars(item[0]))
        return named[1] if named else ""
