"""Composes the documents of a repository: groups of roots, each with its context, laid out as one text."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from megacpp_assets.contract.names import LEFT_OUT
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.context.growth import SEPARATOR_CHARS, Context, Limits, Room
from megacpp_assets.semantic.documents.context.passages import passage_of
from megacpp_assets.semantic.documents.context.prices import Prices
from megacpp_assets.semantic.documents.indexes import Indexes
from megacpp_assets.semantic.documents.items.items import Item
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.judge import Fault, Judge
from megacpp_assets.semantic.documents.roots.budget import Budget
from megacpp_assets.semantic.documents.roots.clusters import GroupSizes
from megacpp_assets.semantic.documents.roots.denied import Denied
from megacpp_assets.semantic.documents.roots.groups import Groups, with_parts
from megacpp_assets.semantic.documents.roots.held_out import DEFINITION_BYTES, HeldOut, where
from megacpp_assets.semantic.documents.roots.lengths import Lengths
from megacpp_assets.semantic.documents.roots.parts import RootPart, parts_of
from megacpp_assets.semantic.documents.roots.strategies import STRATEGIES
from megacpp_assets.semantic.documents.roots.vendored import VENDORED
from megacpp_assets.semantic.documents.text.document import Document, DocumentWriter, Recall, SliceRecorder
from megacpp_assets.semantic.documents.unpriced import Form, Unpriced
from megacpp_assets.semantic.graph.facts_store import Chosen
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository
from megacpp_assets.semantic.graph.spaces import Span
from megacpp_assets.semantic.labels.char_store import CharStore, Part

_TRIES = 4
_TIGHTER = 0.97
"""A document with too many tokens is composed again up to so many times, each time with this share of what fits."""
_SAMPLE = 24
"""About so many documents are laid out before the price of context is known, to measure the other text in them."""
_HEAD_SHARE = 16
"""Include directives may be at most this fraction of a document."""
_TOKENS_PER_CHUNK = 32
"""A row has a chunk slot for every so many tokens. Small declarations share a chunk, so that documents need fewer."""

_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors in our own code that cost one document. Errors of the machine (memory, disk) stop the run."""
NOT_ASSEMBLED = "document_is_assembled"
"""The rule that a document breaks if its assembly raised an error."""

NOTHING_VENDORED: Mapping[str, str] = {}
SHORT = "too short"
_LEAST_CHARS = {"class_decl": 8, "typedef": 8}
_LEAST_CHARS_OTHERWISE = 20
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Skipped:
    """A definition or a file that is no root of any document, and the reason. Bytes are those of the commit."""

    path: str
    name: str
    byte_start: int
    byte_end: int
    reason: str


def documents(
    repository: Repository,
    chars: CharStore,
    recipe: SemanticRecipe,
    budget: int,
    judge: Judge | None = None,
    *,
    vendored: Mapping[str, str] = NOTHING_VENDORED,
    lengths: Lengths | None = None,
    indexes: Indexes | None = None,
) -> Iterator[Document | Skipped]:
    """Yield the roots without a document, then the documents that train, then those that are held out.

    Documents are in the order of the path and the offset of their first roots. `budget` is the maximum number of tokens
    of a document, by estimate. Which roots have no document does not depend on it. Nothing of a held-out file, and no
    near-duplicate of it, is root or context of a document that trains. A short declaration may be shown instead, and
    the used members of a class without their bodies, unless they would make up a definition. A document that breaks a
    rule of `judge` is not published: each of its roots is tried alone, then without context, and is skipped if it still
    breaks a rule. The files `vendored` are copies of other projects and serve only as context. `lengths` estimates the
    tokens of a text; without it the recipe's `chars_per_token` does, or CHARS_PER_TOKEN. The `indexes` of `repository`
    and `recipe` serve every budget.
    """
    judge = judge or Judge(repository)
    held = judge.held
    kept: list[int] = []
    for number, reason in _judged(repository, held, vendored, judge.denied):
        if reason:
            yield _skipped(repository, repository.roots[number], reason)
        else:
            kept.append(number)
    kept.sort()
    files = [repository.roots[number].file for number in kept]
    indexes = indexes or Indexes(repository, chars, recipe)
    assembly = _Assembly(indexes, recipe, Budget(budget, recipe.chars_per_token, lengths), judge)
    for validate in (False, True):
        side = [number for number, file in zip(kept, files, strict=True) if (file in held.files) == validate]
        yield from assembly.documents(Chosen(repository.roots, side), validate=validate)


def _judged(
    repository: Repository, held: HeldOut, vendored: Mapping[str, str], denied: Denied
) -> Iterator[tuple[int, str]]:
    """Yield the number of every root with the reason why it has no document, "" if it has one.

    Amalgamations come last, so that their parts become the roots.
    """
    taken: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
    validates = {_digest(text): place for place, text in _long_roots(repository, held)}
    whole = repository.amalgamations
    files = [place.file for place in repository.roots]
    for number in sorted(range(len(files)), key=lambda number: files[number] in whole):
        place = repository.roots[number]
        text = _text(repository, place)
        is_held = place.file in held.files
        known, key = taken[is_held], _digest(text)
        if len(text) < _LEAST_CHARS.get(place.root.kind, _LEAST_CHARS_OTHERWISE):
            yield number, SHORT
        elif reason := denied.get(place.unit, ""):
            yield number, reason
        elif copy := vendored.get(repository.files[place.file].source.path):
            yield number, VENDORED + copy
        elif place.unit in held.copies:
            yield number, f"near-duplicate of held-out {held.copies[place.unit]}"
        elif key in known:
            yield number, f"same text as {where(repository, repository.roots[known[key]])}"
        elif not is_held and key in validates:
            yield number, f"same text as held-out {where(repository, validates[key])}"
        else:
            known[key] = number
            yield number, ""


def _long_roots(repository: Repository, held: HeldOut) -> Iterator[tuple[PlacedRoot, str]]:
    """Yield the held-out roots with their texts, except short ones, which may be equal to others by chance."""
    for place in repository.roots:
        if place.file in held.files and place.span.end - place.span.start >= DEFINITION_BYTES:
            yield place, _text(repository, place)


def _skipped(repository: Repository, place: PlacedRoot, reason: str) -> Skipped:
    source = repository.files[place.file].source
    start, end = source.in_blob(place.span.start), source.in_blob(place.span.end)
    return Skipped(source.path, place.root.name, start, end, reason)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:_DIGEST_BYTES]


def _text(repository: Repository, place: PlacedRoot) -> str:
    return repository.files[place.file].source.text[place.span.char_start : place.span.char_end]


def _opened(place: PlacedRoot) -> Sequence[Span]:
    """Return what opens the blocks around a root: nothing but for a part."""
    return place.opened if isinstance(place, RootPart) else ()


class _Assembly:
    """Composes the documents of one recipe and budget."""

    def __init__(self, indexes: Indexes, recipe: SemanticRecipe, budget: Budget, judge: Judge) -> None:
        self._judge, held = judge, judge.held
        self._repository, self._chars = indexes.repository, indexes.chars
        self._items, self._mentions = indexes.items, indexes.mentions
        self._standard, self._heads, self._layout = indexes.standard, indexes.heads, indexes.layout
        self._surroundings = indexes.surroundings
        self._strategy = STRATEGIES[recipe.strategy]
        self._budget = budget
        clustered = recipe.strategy == "clustered"
        self._small_share = recipe.small_share if clustered else 0.0
        self._chunks = budget.tokens // _TOKENS_PER_CHUNK
        self._replication = recipe.replication
        self._most = int(budget.chars / recipe.replication) if recipe.replication else budget.chars
        """The maximum number of characters of roots, which leave the rest to their context."""
        self._prices = Prices()
        self._unpriced = Unpriced()
        self._sizes = recent(self._size_between)
        self._parted: set[bytes] = set()
        """The digests of the parts that documents have."""
        barred = [*(place.unit for place in self._repository.roots if place.file in held.files), *held.copied]
        self._denied = self._items_of(judge.denied)
        self._barred = self._items_of(barred) | self._denied

    def _items_of(self, units: Iterable[tuple[int, int]]) -> frozenset[Item]:
        return frozenset(self._items.of[number] for unit in units for number in range(*unit))

    def documents(self, roots: Sequence[PlacedRoot], *, validate: bool) -> Iterator[Document | Skipped]:
        """Yield a document without a fault for each group of `roots`, and the roots that are in none.

        All `roots` are on the same side: training or held out.
        """
        sizes = list(map(self._size, roots))
        numbers = self._strategy(self._repository, roots, sizes, GroupSizes(self._most, self._small_share))
        groups = Groups(roots, numbers)
        parts = [self._parts(group) for group in groups]
        form = Form(validate, sealed=self._denied)
        self._price(Groups(roots, with_parts(numbers, parts)), form)
        spent = allowed = 0
        for group, cut in zip(groups, parts, strict=True):
            entries = self._entries(group, cut, form)
            spent += sum(len(each.text) for each in entries if isinstance(each, Document))
            allowed += int(sum(map(self._own, group)) * self._replication)
            self._prices.steer(spent, allowed)
            yield from entries

    def _entries(self, group: Sequence[PlacedRoot], parts: Sequence[RootPart], form: Form) -> list[Document | Skipped]:
        """Return the document of `group`, those of the `parts` of its only root, or those of each root alone."""
        found = [self._sound([part], form) for part in parts]
        documents = [each for each in found if isinstance(each, Document)]
        if documents and len(documents) == len(parts):
            return [*documents]
        made = self._sound(group, form)
        if isinstance(made, Document):
            return [made]
        return [self._alone(place, form) for place in group]

    def _parts(self, group: Sequence[PlacedRoot]) -> Sequence[RootPart]:
        """Return the parts of a root that fills more than a document; none if it cannot be cut.

        A part with the text of another one would be learned twice, so its root stays whole.
        """
        is_long = len(group) == 1 and self._size(group[0]) > self._budget.chars
        parts = parts_of(self._repository, group[0], self._budget.size, self._most) if is_long else ()
        texts = [_digest(_text(self._repository, part)) for part in parts]
        if len({*texts, *self._parted}) < len(texts) + len(self._parted):
            return ()
        self._parted.update(texts)
        return parts

    def _price(self, groups: Sequence[Sequence[PlacedRoot]], form: Form) -> None:
        """Set the price at which the documents of all `groups` stay within the recipe's replication."""
        self._prices = Prices()
        self._unpriced = Unpriced()
        if self._replication:
            for group in groups:
                before = self._prices.spent
                context = self._context(group, self._prices, form)
                self._unpriced.keep_context(group, form, context, self._prices.spent - before)
            own = sum(self._own(place) for group in groups for place in group)
            room = own * (self._replication - 1)
            self._prices.fix(int(room))
            self._prices.fix(int(room - own * self._overhead(groups, form)))
        if not self._prices.is_free:
            self._unpriced = Unpriced()

    def _overhead(self, groups: Sequence[Sequence[PlacedRoot]], form: Form) -> float:
        """Return the characters of includes, namespaces, conditions and blank lines for each character of roots.

        They are measured on a sample of `groups`.
        """
        own = total = 0
        for group in groups[:: max(1, len(groups) // _SAMPLE)]:
            with suppress(*_ERRORS):
                document = self._document(group, form)
                self._unpriced.keep_document(group, form, document)
                total += len(document.text)
                own += sum(map(self._own, group))
        return max(0, total - own - self._prices.spent) / own if own else 0.0

    def _own(self, place: PlacedRoot) -> int:
        return place.span.char_end - place.span.char_start + SEPARATOR_CHARS

    def _size(self, place: PlacedRoot) -> int:
        return self._sizes(place.file, place.span.char_start, place.span.char_end)

    def _size_between(self, file: int, start: int, end: int) -> int:
        return self._budget.size(self._repository.files[file].source.text[start:end]) + SEPARATOR_CHARS

    def _alone(self, place: PlacedRoot, form: Form) -> Document | Skipped:
        """Return a document of one root, without context if it breaks a rule; if it still does, the root is skipped."""
        made = self._sound([place], form)
        if isinstance(made, Fault):
            made = self._sound([place], replace(form, is_bare=True))
        if isinstance(made, Document):
            return made
        return _skipped(self._repository, place, f"{LEFT_OUT}{made.rule}: {made.place}")

    def _sound(self, roots: Sequence[PlacedRoot], form: Form) -> Document | Fault:
        """Return the document of `roots`, or the first rule that it breaks.

        A held-out definition that the document would complete is sealed. An error in the assembly is a fault too: it
        costs these roots, never the repository.
        """
        try:
            document = self._fitting(roots, form)
            fault = self._judge.fault(document)
            leaked = {self._items.of[number] for number in range(*fault.leaked)} if fault else set()
            if leaked - form.sealed:
                return self._sound(roots, replace(form, sealed=form.sealed | leaked))
            return fault or document
        except _ERRORS as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return Fault(NOT_ASSEMBLED, f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}")

    def _fitting(self, roots: Sequence[PlacedRoot], form: Form) -> Document:
        """Return the document of `roots`, with less context if it had more tokens than the budget."""
        document = self._unpriced.document(roots, form) or self._document(roots, form)
        for _ in range(0 if form.is_bare else _TRIES):
            if (excess := self._budget.excess(document.text)) <= 1 or not document.has_context:
                break
            smaller = self._document(roots, replace(form, most=int(len(document.text) / excess * _TIGHTER)))
            if len(smaller.text) >= len(document.text):
                break
            document = smaller
        return document

    def _document(self, roots: Sequence[PlacedRoot], form: Form) -> Document:
        context = Context() if form.is_bare else self._context(roots, self._prices, form)
        pieces = self._layout.pieces(roots, context)
        recorder = SliceRecorder(self._repository, self._chars)
        self._layout.write(recorder, pieces)
        needed = self._standard.needed(recorder.parts, in_c=self._is_c(roots[0]))
        writer = DocumentWriter(self._repository, self._chars)
        self._heads.write(writer, pieces, 0 if form.is_bare else self._head_room(roots), needed)
        self._layout.write(writer, pieces)
        return writer.finish(roots, validates=form.validates, recall=self._recall(roots, writer.parts))

    def _context(self, roots: Sequence[PlacedRoot], prices: Prices, form: Form) -> Context:
        """Return the context of `roots` in a document of that `form`."""
        known = self._unpriced.context(roots, form) if prices.is_free else None
        if known is not None:
            prices.take_again(known.chars)
            return known.context
        room = self._left(roots, form.most)
        room.chars -= self._head_room(roots)
        barred = self._denied if form.validates else self._barred
        return self._surroundings.choose(
            [*map(passage_of, roots)], room, prices, Limits(barred, form.sealed, self._denied)
        )

    def _head_room(self, roots: Sequence[PlacedRoot]) -> int:
        """Return the number of characters that include directives may have."""
        left, own = self._left(roots).chars, sum(map(self._own, roots))
        return max(0, min(left, int(own * self._replication)) if self._replication else left) // _HEAD_SHARE

    def _left(self, roots: Sequence[PlacedRoot], most: int | None = None) -> Room:
        """Return the room that `roots` leave of `most` characters, or of the budget.

        Of the budget they take what they have in tokens, so that long names leave more room than short ones.
        """
        own = sum(map(self._own, roots))
        taken = own if most is not None else sum(map(self._size, roots))
        taken += sum(map(self._items.around_chars, {self._items.of[place.unit[0]] for place in roots}))
        taken += sum(span.char_end - span.char_start for place in roots for span in _opened(place))
        chunks = sum(end - start for start, end in (passage_of(place).unit for place in roots))
        return Room((self._budget.chars if most is None else most) - taken, self._chunks - chunks)

    def _is_c(self, place: PlacedRoot) -> bool:
        """Return whether a document that begins with `place` is C."""
        facts = self._repository.files[place.file]
        standard = facts.parsed.standard
        return "++" not in standard if standard else facts.file.language == "c"

    def _recall(self, roots: Sequence[PlacedRoot], parts: Sequence[Part]) -> Recall:
        """Return how many uses of the repository the roots have, and how many of them `parts` declare."""
        here = frozenset[int]().union(*(self._mentions.declared(part.file, part.start, part.end) for part in parts))
        used = [self._surroundings.used(passage_of(root)).keys() for root in roots]
        return Recall(sum(map(len, used)), sum(len(here.intersection(ids)) for ids in used))
