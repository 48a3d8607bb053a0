"""Composes the documents of a repository: groups of roots, each with its context, laid out as one text."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.composer import Composer, RootGroup, Skipped, skipped
from megacpp_assets.semantic.documents.context.prices import Demand, Prices
from megacpp_assets.semantic.documents.judge import Fault, Judge
from megacpp_assets.semantic.documents.lots import (
    ComposerPool,
    DocumentLot,
    LocalComposers,
    Materials,
    chars_of,
    compose,
    is_large,
    sample,
    search,
)
from megacpp_assets.semantic.documents.roots.clusters import GroupSizes
from megacpp_assets.semantic.documents.roots.denied import Denied
from megacpp_assets.semantic.documents.roots.held_out import DEFINITION_BYTES, HeldOut, where
from megacpp_assets.semantic.documents.roots.lengths import Lengths
from megacpp_assets.semantic.documents.roots.parts import parts_of
from megacpp_assets.semantic.documents.roots.strategies import STRATEGIES
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.documents.unpriced import Form
from megacpp_assets.semantic.graph.facts_store import Chosen
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository
from megacpp_assets.semantic.labels.char_store import CharStore

_MOST_GROUPS, _FEWEST_LOTS = 8, 64
"""A lot for workers has at most so many groups, and fewer if there would be fewer than so many lots."""
_WAVES, _LONGEST_WAVE = 8, 2048
"""The lots for workers are composed in so many waves, or in more of so many groups each. The price of a wave follows
the waves before it."""
_LARGE_SHARE = 0.97
"""The share of the allowed characters that the documents of a large side aim at: their prices lag by a wave."""
_SEARCHED = 128
"""At most so many groups, evenly drawn, are searched without a price. What they would show sets the price for all."""
_SAMPLE = 24
"""About so many documents are laid out before the price of context is known, to measure the other text in them."""

_NO_FILES: Mapping[str, str] = {}
SHORT = "too short"
_LEAST_CHARS = {"class_decl": 8, "typedef": 8}
_LEAST_CHARS_OTHERWISE = 20
_REPEATS, _SMALL_EXCESS = 4, 1 / 128
"""The number of times that the documents of a small side are composed at most, and the excess over the replication, as
a share of it, for which they are not all composed again."""
_DIGEST_BYTES = 16


def documents(
    repository: Repository,
    chars: CharStore,
    recipe: SemanticRecipe,
    budget: int,
    judge: Judge | None = None,
    *,
    only_context: Mapping[str, str] = _NO_FILES,
    lengths: Lengths | None = None,
    composers: ComposerPool | None = None,
) -> Iterator[Document | Skipped]:
    """Yield the roots without a document, then the documents that train, then those that are held out.

    Documents are in the order of the path and the offset of their first roots. `budget` is the maximum number of tokens
    of a document, by estimate. Which roots have no document does not depend on it. Nothing of a held-out file, and no
    near-duplicate of it, is root or context of a document that trains. A short declaration may be shown instead, and
    the used members of a class without their bodies, unless they would make up a definition. A document that breaks a
    rule is not published: its roots are halved, down to single ones without context, and a root that still breaks a
    rule is skipped. The files `only_context`, each with the reason, have no documents of their own. `lengths` estimates
    the tokens of a text; without it the recipe's `chars_per_token` does, or CHARS_PER_TOKEN. The same `composers` serve
    every budget.
    """
    judge = judge or Judge(repository)
    held = judge.held
    kept: list[int] = []
    for number, reason in _judged(repository, held, only_context, judge.denied):
        if reason:
            yield skipped(repository, repository.roots[number], reason)
        else:
            kept.append(number)
    kept.sort()
    files = [repository.roots[number].file for number in kept]
    composers = composers or ComposerPool(
        LocalComposers(Materials(repository, chars, recipe, lengths, held, judge.denied))
    )
    if composers.local.materials.held is not held or composers.local.materials.denied is not judge.denied:
        raise ValueError("the judge and the composers must know the same held-out files and denied roots")
    assembly = _Assembly(composers, budget, judge)
    for validate in (False, True):
        side = [number for number, file in zip(kept, files, strict=True) if (file in held.files) == validate]
        yield from assembly.documents(side, validate=validate)


def withhold_parts(judge: Judge, composers: LocalComposers, budgets: Sequence[int]) -> None:
    """Let `judge` withhold the parts that long held-out roots have in the documents of all `budgets`."""
    repository = composers.materials.repository
    held = [place for place in repository.roots if place.file in judge.held.files]
    judge.withhold(
        part
        for composer in map(composers.composer, budgets)
        for place in held
        if composer.size(place) > composer.budget.chars
        for part in parts_of(repository, place, composer.budget.size, most_of_roots(composer))
    )


def most_of_roots(composer: Composer) -> int:
    """Return the maximum number of characters of the roots of a document, which leave the rest to their context."""
    chars, replication = composer.budget.chars, composer.replication
    return int(chars / replication) if replication else chars


def _judged(
    repository: Repository, held: HeldOut, only_context: Mapping[str, str], denied: Denied
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
        elif reason := only_context.get(repository.files[place.file].source.path, ""):
            yield number, reason
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


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:_DIGEST_BYTES]


def _text(repository: Repository, place: PlacedRoot) -> str:
    return repository.files[place.file].source.text[place.span.char_start : place.span.char_end]


class _Side(NamedTuple):
    """The form of the documents of one side, the characters of all their roots, the prices of their context, and the
    characters that are expected of the documents of each group at these prices, by its first root."""

    form: Form
    own: int
    prices: Prices
    expected: Mapping[int, int]


class _Made(NamedTuple):
    """What a lot was composed to for one of its groups."""

    lot: DocumentLot
    group: RootGroup
    entries: Sequence[Document | Skipped]


class _Assembly:
    """Composes the documents of one side after the other: training, then held out."""

    def __init__(self, composers: ComposerPool, budget: int, judge: Judge) -> None:
        self._composers, self._budget, self._judge = composers, budget, judge
        self._composer = composers.local.composer(budget)
        recipe = composers.local.materials.recipe
        self._repository = composers.local.materials.repository
        self._strategy = STRATEGIES[recipe.strategy]
        self._small_share = recipe.small_share if recipe.strategy == "clustered" else 0.0
        self._replication = self._composer.replication
        self._most = most_of_roots(self._composer)
        self._parted: set[bytes] = set()
        """The digests of the parts that documents have."""

    def documents(self, numbers: Sequence[int], *, validate: bool) -> Iterator[Document | Skipped]:
        """Yield a document without a fault for each group of the roots `numbers`, and the roots that are in none.

        All of them are on the same side: training or held out.
        """
        roots = Chosen(self._repository.roots, numbers)
        sizes = list(map(self._composer.size, roots))
        grouped = self._strategy(self._repository, roots, sizes, GroupSizes(self._most, self._small_share))
        groups = [self._group([numbers[each] for each in group]) for group in grouped]
        form, own = Form(validate, sealed=self._composer.denied), self._own(groups)
        demand = self._demand(groups, own, form)
        side = self._priced(_Side(form, own, Prices(), {}), groups, demand, 0)
        made = self._waves(groups, side) if is_large(own) or not demand else self._bounded(groups, side, demand)
        for each in made:
            yield from self._published(each)

    def _bounded(self, groups: Sequence[RootGroup], side: _Side, demand: Demand) -> Sequence[_Made]:
        """Return the documents of a small side at prices that keep them within the recipe's replication.

        It has too few documents for prices that follow what the documents before have spent. A small excess is taken
        from the last documents.
        """
        excess, allowed = 0, int(side.own * self._replication)
        for _ in range(_REPEATS):
            made = list(self._waves(groups, side))
            over = sum(chars_of(each.entries) for each in made) - allowed
            if over <= allowed * _SMALL_EXCESS:
                break
            excess += over
            side = self._priced(side, groups, demand, excess)
        return self._shortened(made, over)

    def _priced(self, side: _Side, groups: Sequence[RootGroup], demand: Demand | None, excess: int) -> _Side:
        """Return a side with prices at which its documents show what there is room for, less `excess` characters."""
        if demand is None:
            return side
        prices, own = demand.prices(excess), {group.roots[0]: self._composer.own(group) for group in groups}
        return side._replace(prices=prices, expected=demand.expected(own, prices))

    def _shortened(self, made: Sequence[_Made], over: int) -> Sequence[_Made]:
        """Return the documents `made`, of which the last ones are composed again at the highest price until they have
        `over` characters less."""
        result = list(made)
        for place in reversed(range(len(result))):
            if over <= 0:
                break
            each = result[place]
            again = self._composer.entries(each.group, each.lot.form, each.lot.prices.highest(), self._fault_alone)
            saved = chars_of(each.entries) - chars_of(again)
            if saved > 0:
                result[place], over = each._replace(entries=again), over - saved
        return result

    def _waves(self, groups: Sequence[RootGroup], side: _Side) -> Iterator[_Made]:
        """Yield what each of `groups` is composed to, wave after wave."""
        spent = expected = 0
        lot_groups, wave_groups = _lot_and_wave(len(groups), side.own)
        for wave in _cut(groups, wave_groups):
            lots = list(self._lots(_cut(wave, lot_groups), side, spent, expected))
            for lot, made in zip(lots, self._composers.run(compose, self._budget, lots, side.own), strict=True):
                spent += made.spent
                yield from (_Made(lot, *each) for each in zip(lot.groups, made.entries, strict=True))
            expected += sum(sum(lot.each) for lot in lots)

    def _lots(
        self, wave: Sequence[Sequence[RootGroup]], side: _Side, spent: int, expected: int
    ) -> Iterator[DocumentLot]:
        """Yield the lots of a wave, before which documents had `spent` characters where so many were `expected`.

        What the lots of this wave will spend is not known. Each is priced as if those before it spend what is expected.
        Without workers a wave is one lot, and all lots have the same prices in turn.
        """
        more = 0
        for groups in wave:
            before, each = (spent + more, expected + more), [side.expected.get(group.roots[0], 0) for group in groups]
            share = self._own(groups) / side.own
            prices = side.prices.part(share, *before) if is_large(side.own) else side.prices
            yield DocumentLot(groups, side.form, prices, *before, each)
            more += sum(each)

    def _group(self, roots: Sequence[int]) -> RootGroup:
        """Return a group with the parts of a root that fills more than a document; none if it cannot be cut.

        A part with the text of another one would be learned twice, so its root stays whole.
        """
        place, budget = self._repository.roots[roots[0]], self._composer.budget
        is_long = len(roots) == 1 and self._composer.size(place) > budget.chars
        parts = parts_of(self._repository, place, budget.size, self._most) if is_long else ()
        texts = [_digest(_text(self._repository, part)) for part in parts]
        if len({*texts, *self._parted}) < len(texts) + len(self._parted):
            return RootGroup(roots)
        self._parted.update(texts)
        return RootGroup(roots, parts)

    def _own(self, groups: Iterable[RootGroup]) -> int:
        """Return the characters of the roots of `groups`."""
        return sum(map(self._composer.own, groups))

    def _demand(self, groups: Sequence[RootGroup], own: int, form: Form) -> Demand | None:
        """Return what the documents of all `groups` would show, and the room that the recipe's replication leaves for
        it; None if it has no limit.
        """
        if not self._replication:
            return None
        by_group: dict[int, Counter[float]] = {}
        searched = _drawn(groups, _SEARCHED)
        lots = [DocumentLot(lot, form, Prices()) for lot in _cut(searched, _MOST_GROUPS)]
        for lot, found in zip(lots, self._composers.run(search, self._budget, lots, own), strict=True):
            by_group |= {group.roots[0]: counted for group, counted in zip(lot.groups, found, strict=True)}
        room, share = int(own * (self._replication - 1)), self._own(searched) / own if own else 1.0
        total = int(own * self._replication * (_LARGE_SHARE if is_large(own) else 1))
        demand = Demand(by_group, room, share, total)
        lot = DocumentLot(groups[:: max(1, len(groups) // _SAMPLE)], form, demand.prices())
        (overhead,) = self._composers.run(sample, self._budget, [lot], own)
        return demand._replace(room=int(own * (self._replication - 1) - own * overhead))

    def _published(self, made: _Made) -> Sequence[Document | Skipped]:
        """Return the entries of a group, composed again if one of them would complete a held-out definition."""
        if any(isinstance(each, Document) and self._judge.leak(each) for each in made.entries):
            prices = made.lot.prices.part(0, made.lot.spent, made.lot.expected)
            return self._composer.entries(made.group, made.lot.form, prices, self._fault)
        return made.entries

    def _fault(self, document: Document) -> Fault | None:
        return self._fault_alone(document) or self._judge.leak(document)

    def _fault_alone(self, document: Document) -> Fault | None:
        return self._composers.local.rules.fault(document)


def _lot_and_wave(groups: int, chars: int) -> tuple[int, int]:
    """Return the number of groups of a lot, and that of a wave, for so many groups whose roots have `chars`."""
    if not is_large(chars):
        return _MOST_GROUPS, _MOST_GROUPS
    return max(1, min(_MOST_GROUPS, groups // _FEWEST_LOTS)), min(_LONGEST_WAVE, -(-groups // _WAVES))


def _drawn(groups: Sequence[RootGroup], most: int) -> Sequence[RootGroup]:
    """Return at most so many of `groups`, evenly drawn."""
    return groups[:: max(1, -(-len(groups) // most))]


def _cut(groups: Sequence[RootGroup], most: int) -> list[Sequence[RootGroup]]:
    return [groups[begin : begin + most] for begin in range(0, len(groups), max(1, most))]
