"""Composes documents of given roots: searches their context, at a price, and lays everything out as one text."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from megacpp_assets.contract.names import LEFT_OUT
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.context.growth import SEPARATOR_CHARS, Context, Limits, Room
from megacpp_assets.semantic.documents.context.passages import passage_of
from megacpp_assets.semantic.documents.context.prices import Prices
from megacpp_assets.semantic.documents.indexes import Indexes
from megacpp_assets.semantic.documents.items.items import Item
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.judge import Fault
from megacpp_assets.semantic.documents.roots.budget import Budget
from megacpp_assets.semantic.documents.roots.denied import Denied
from megacpp_assets.semantic.documents.roots.held_out import HeldOut
from megacpp_assets.semantic.documents.roots.parts import RootPart
from megacpp_assets.semantic.documents.text.document import Document, DocumentWriter, Recall
from megacpp_assets.semantic.documents.unpriced import Form, Unpriced
from megacpp_assets.semantic.graph.analysis.analysis import is_c
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository
from megacpp_assets.semantic.graph.spaces import Span
from megacpp_assets.semantic.labels.char_store import Part

_TRIES = 4
_TIGHTER = 0.97
"""A document with too many tokens is composed again up to so many times, each time with this share of what fits."""
_HEAD_SHARE = 16
"""Include directives may be at most this fraction of a document."""
_TOKENS_PER_CHUNK = 32
"""A row has a chunk slot for every so many tokens. Small declarations share a chunk, so that documents need fewer."""
ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors in our own code that cost one document. Errors of the machine (memory, disk) stop the run."""
NOT_ASSEMBLED = "document_is_assembled"
"""The rule that a document breaks if its assembly raised an error."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A definition or a file that is no root of any document, and the reason. Bytes are those of the commit."""

    path: str
    name: str
    byte_start: int
    byte_end: int
    reason: str


class RootGroup(NamedTuple):
    """The roots of a document, by number, and the parts of its only root if it is too long for one document."""

    roots: Sequence[int]
    parts: Sequence[RootPart] = ()


Rule = Callable[[Document], Fault | None]
"""Returns the first rule that a document breaks."""


def skipped(repository: Repository, place: PlacedRoot, reason: str) -> Skipped:
    """Return a root that has no document."""
    source = repository.files[place.file].source
    start, end = source.in_blob(place.span.start), source.in_blob(place.span.end)
    return Skipped(source.path, place.root.name, start, end, reason)


def _opened(place: PlacedRoot) -> Sequence[Span]:
    """Return what opens the blocks around a root: nothing but for a part."""
    return place.opened if isinstance(place, RootPart) else ()


class Composer:
    """Composes documents for one recipe and budget.

    Documents that train show nothing of the files `held`; no document shows a `denied` root.
    """

    def __init__(self, indexes: Indexes, recipe: SemanticRecipe, budget: Budget, held: HeldOut, denied: Denied) -> None:
        self._repository = indexes.repository
        self._items, self._mentions = indexes.items, indexes.mentions
        self._standard, self._heads, self._layout = indexes.standard, indexes.heads, indexes.layout
        self._surroundings = indexes.surroundings
        self.budget = budget
        self._chunks = budget.tokens // _TOKENS_PER_CHUNK
        self.replication = recipe.replication
        """The maximum number of characters of all documents for each character of their roots; 0 for no maximum."""
        self._unpriced = Unpriced()
        self._sizes = recent(self._size_between)
        barred = [*(place.unit for place in self._repository.roots if place.file in held.files), *held.copied]
        self.denied = self._items_of(denied)
        self._barred = self._items_of(barred) | self.denied

    def _items_of(self, units: Iterable[tuple[int, int]]) -> frozenset[Item]:
        return frozenset(self._items.of[number] for unit in units for number in range(*unit))

    def targets(self, group: RootGroup) -> list[list[PlacedRoot]]:
        """Return the roots of each document of a group: one, or one for each part."""
        if group.parts:
            return [[part] for part in group.parts]
        return [self._places(group)]

    def _places(self, group: RootGroup) -> list[PlacedRoot]:
        return [self._repository.roots[number] for number in group.roots]

    def search(self, group: RootGroup, form: Form, prices: Prices) -> None:
        """Search the context of the documents of `group` while there is no price, so that `prices` counts it."""
        for roots in self.targets(group):
            before = prices.spent
            context = self._context(roots, prices, form)
            self._unpriced.keep_context(roots, form, context, prices.spent - before)

    def forget(self) -> None:
        """Forget what was found without a price: there is one now."""
        self._unpriced = Unpriced()

    def sampled(self, group: RootGroup, form: Form, prices: Prices) -> int:
        """Return the characters of the documents of `group` at `prices`; 0 if one could not be assembled."""
        try:
            documents = [(roots, self._document(roots, form, prices)) for roots in self.targets(group)]
        except ERRORS:
            return 0
        for roots, document in documents if prices.is_free else ():
            self._unpriced.keep_document(roots, form, document)
        return sum(len(document.text) for _, document in documents)

    def entries(self, group: RootGroup, form: Form, prices: Prices, rule: Rule) -> list[Document | Skipped]:
        """Return the document of `group`, or those of the parts of its only root.

        No document of them breaks the `rule`. The roots of a group whose document would break it are halved, until only
        the roots that break it by themselves stand alone.
        """
        found = [self._sound([part], form, prices, rule) for part in group.parts]
        broken = next((each.rule for each in found if isinstance(each, Fault)), "")
        documents = [each for each in found if isinstance(each, Document)]
        if documents and not broken:
            return [*documents]
        return [*self._halved(self._places(group), form, prices, rule, broken)]

    def _halved(
        self, roots: Sequence[PlacedRoot], form: Form, prices: Prices, rule: Rule, broken: str
    ) -> Iterator[Document | Skipped]:
        """Yield the document of `roots`, or those of each half of them if it breaks the `rule`.

        `broken` is the rule that a document with more roots broke.
        """
        made = self._sound(roots, form, prices, rule)
        if isinstance(made, Document):
            yield replace(made, broken_rule=broken)
            return
        if len(roots) == 1:
            yield self._bare(roots[0], form, prices, rule, made.rule)
            return
        middle = len(roots) // 2
        for half in (roots[:middle], roots[middle:]):
            yield from self._halved(half, self._bounded(half, form), prices, rule, made.rule)

    def own(self, group: RootGroup) -> int:
        """Return the characters of the roots of a group."""
        return sum(map(self._own, self._places(group)))

    def _own(self, place: PlacedRoot) -> int:
        return place.span.char_end - place.span.char_start + SEPARATOR_CHARS

    def size(self, place: PlacedRoot) -> int:
        """Return the characters of an average text with as many tokens as a root."""
        return self._sizes(place.file, place.span.char_start, place.span.char_end)

    def _size_between(self, file: int, start: int, end: int) -> int:
        return self.budget.size(self._repository.files[file].source.text[start:end]) + SEPARATOR_CHARS

    def _bounded(self, roots: Sequence[PlacedRoot], form: Form) -> Form:
        """Return the form of a document of a few roots of a group, whose context is bounded by their own length.

        Context was priced for the whole group: without a bound, each of many documents could buy all of it again.
        """
        if not self.replication:
            return form
        most = max(1, int(sum(map(self._own, roots)) * self.replication))
        return replace(form, most=min(most, form.most or most))

    def _bare(self, place: PlacedRoot, form: Form, prices: Prices, rule: Rule, broken: str) -> Document | Skipped:
        """Return a document of one root without context, or the root as skipped if this breaks a rule too."""
        made = self._sound([place], replace(form, is_bare=True), prices, rule)
        if isinstance(made, Document):
            return replace(made, broken_rule=broken)
        return skipped(self._repository, place, f"{LEFT_OUT}{made.rule}: {made.place}")

    def _sound(self, roots: Sequence[PlacedRoot], form: Form, prices: Prices, rule: Rule) -> Document | Fault:
        """Return the document of `roots`, or the first rule that it breaks.

        A held-out definition that the document would complete is sealed. An error in the assembly is a fault too: it
        costs these roots, never the repository.
        """
        try:
            document = self._fitting(roots, form, prices)
            fault = rule(document)
            leaked = {self._items.of[number] for number in range(*fault.leaked)} if fault else set()
            if leaked - form.sealed:
                return self._sound(roots, replace(form, sealed=form.sealed | leaked), prices, rule)
            return fault or document
        except ERRORS as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return Fault(NOT_ASSEMBLED, f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}")

    def _fitting(self, roots: Sequence[PlacedRoot], form: Form, prices: Prices) -> Document:
        """Return the document of `roots`, with less context if it had more tokens than the budget."""
        known = self._unpriced.document(roots, form) if prices.is_free else None
        document = known or self._document(roots, form, prices)
        for _ in range(0 if form.is_bare else _TRIES):
            if (excess := self.budget.excess(document.text)) <= 1 or not document.has_context:
                break
            smaller = self._document(roots, replace(form, most=int(len(document.text) / excess * _TIGHTER)), prices)
            if len(smaller.text) >= len(document.text):
                break
            document = smaller
        return document

    def _document(self, roots: Sequence[PlacedRoot], form: Form, prices: Prices) -> Document:
        context = Context() if form.is_bare else self._context(roots, prices, form)
        pieces = self._layout.pieces(roots, context)
        body, writer = DocumentWriter(self._repository, follows=True), DocumentWriter(self._repository)
        self._layout.write(body, pieces)
        needed = self._standard.needed(body.parts, in_c=self._is_c(roots[0]))
        room = 0 if form.is_bare else self._head_room(roots)
        behind = self._heads.write(writer, pieces, room, needed, body.parts)
        if behind or not writer.try_append(body):
            self._layout.write(writer, pieces, behind)
        return writer.finish(roots, validates=form.validates, recall=self._recall(roots, writer.parts))

    def _context(self, roots: Sequence[PlacedRoot], prices: Prices, form: Form) -> Context:
        """Return the context of `roots` in a document of that `form`."""
        known = self._unpriced.context(roots, form) if prices.is_free else None
        if known is not None:
            prices.take_again(known.chars)
            return known.context
        left = self._left(roots, form.most)
        room = left._replace(chars=left.chars - self._head_room(roots))
        barred = self.denied if form.validates else self._barred
        return self._surroundings.choose(
            [*map(passage_of, roots)], room, prices, Limits(barred, form.sealed, self.denied, self._is_c(roots[0]))
        )

    def _head_room(self, roots: Sequence[PlacedRoot]) -> int:
        """Return the number of characters that include directives may have."""
        left, own = self._left(roots).chars, sum(map(self._own, roots))
        return max(0, min(left, int(own * self.replication)) if self.replication else left) // _HEAD_SHARE

    def _left(self, roots: Sequence[PlacedRoot], most: int | None = None) -> Room:
        """Return the room that `roots` leave of the budget, and of `most` characters if that is less.

        Of the budget they take what they have in tokens, so that long names leave more room than short ones.
        """
        room = self.budget.chars - sum(map(self.size, roots))
        if most is not None:
            room = min(room, most - sum(map(self._own, roots)))
        room -= sum(map(self._items.around_chars, {self._items.of[place.unit[0]] for place in roots}))
        room -= sum(span.char_end - span.char_start for place in roots for span in _opened(place))
        chunks = sum(end - start for start, end in (passage_of(place).unit for place in roots))
        return Room(room, self._chunks - chunks)

    def _is_c(self, place: PlacedRoot) -> bool:
        """Return whether a document that begins with `place` is C."""
        return is_c(self._repository.files[place.file])

    def _recall(self, roots: Sequence[PlacedRoot], parts: Sequence[Part]) -> Recall:
        """Return how many uses of the repository the roots have, and how many of them `parts` declare."""
        here = frozenset[int]().union(*(self._mentions.declared(part.file, part.start, part.end) for part in parts))
        used = [self._surroundings.used(passage_of(root)).keys() for root in roots]
        return Recall(sum(map(len, used)), sum(len(here.intersection(ids)) for ids in used))
