"""Lots of documents, which workers search and compose at the same time.

A wave of lots follows another. The price of a lot depends on the documents of the waves before its own. Waves do not
depend on the number of workers, so neither does any document.
"""

from __future__ import annotations

import gc
import logging
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.compute.executors.select import worker_count
from megacpp_assets.compute.gc_disabled import gc_disabled
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.composer import Composer, RootGroup, Skipped
from megacpp_assets.semantic.documents.context.prices import Prices
from megacpp_assets.semantic.documents.indexes import Indexes
from megacpp_assets.semantic.documents.judge import Rules
from megacpp_assets.semantic.documents.roots.budget import Budget
from megacpp_assets.semantic.documents.roots.denied import NOTHING_DENIED, Denied
from megacpp_assets.semantic.documents.roots.held_out import NOTHING_HELD, HeldOut
from megacpp_assets.semantic.documents.roots.lengths import Lengths
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.documents.unpriced import Form
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.labels.char_store import CharStore

FEWEST_CHARS: Final = 2_000_000
"""Roots of fewer characters are composed by this process. Each worker computes the facts of what many documents show
for itself, so two workers would take as long."""
_TIMEOUT_S: Final = 3600.0
"""A worker that takes longer for a run of lots hangs. This process then composes the run."""
_RUNS, _LONGEST_RUN = 2, 16
"""The lots are cut into so many runs for each worker, or into more of so many lots each. The documents of a run are
near, so that they show the same context."""
_WITHOUT_END: Final = 0
"""Workers are not replaced: each has to read the repository first."""
_LOG = logging.getLogger(__name__)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class DocumentLot:
    """Groups of roots on one side, the prices of their context, the characters of the documents before it that were
    `spent` and `expected`, and those that are expected of the documents of each group."""

    groups: Sequence[RootGroup]
    form: Form
    prices: Prices
    spent: int = 0
    expected: int = 0
    each: Sequence[int] = ()


class Composed(NamedTuple):
    """The documents of each group of a lot, and the roots that have none; the characters of these documents."""

    entries: Sequence[Sequence[Document | Skipped]]
    spent: int


@dataclass(frozen=True, slots=True)
class Materials:
    """What is composed: a repository with its characters, the recipe, and what documents may not show."""

    repository: Repository
    chars: CharStore
    recipe: SemanticRecipe
    lengths: Lengths | None = None
    held: HeldOut = NOTHING_HELD
    denied: Denied = field(default_factory=lambda: NOTHING_DENIED)


class LocalComposers:
    """The composers of one process, with what they share."""

    def __init__(self, materials: Materials, rules: Rules | None = None) -> None:
        self.materials = materials
        self._indexes = Indexes(materials.repository, materials.chars, materials.recipe)
        self.rules = rules or Rules(materials.repository)
        self.composer = lru_cache(1)(self._composer)
        """The composer of a budget, in tokens."""

    def _composer(self, tokens: int) -> Composer:
        of = self.materials
        budget = Budget(tokens, of.recipe.chars_per_token, of.lengths)
        return Composer(self._indexes, of.recipe, budget, of.held, of.denied)


Work = Callable[[LocalComposers, int, DocumentLot], Result]
"""Works on a lot for a budget, in tokens. It is a function of this module, which workers find by its name."""


def search(local: LocalComposers, tokens: int, lot: DocumentLot) -> list[Counter[float]]:
    """Return the characters of context that each group of a lot would show without a price, by worth."""
    found: list[Counter[float]] = []
    for group in lot.groups:
        prices = Prices()
        local.composer(tokens).search(group, lot.form, prices)
        found.append(prices.taken)
    return found


def sample(local: LocalComposers, tokens: int, lot: DocumentLot) -> float:
    """Return the characters of includes, namespaces, conditions and blank lines for each character of roots."""
    own = total = 0
    for group in lot.groups:
        found = local.composer(tokens).sampled(group, lot.form, lot.prices)
        total += found
        own += local.composer(tokens).own(group) if found else 0
    return max(0, total - own - lot.prices.spent) / own if own else 0.0


def compose(local: LocalComposers, tokens: int, lot: DocumentLot) -> Composed:
    """Return the documents of a lot that break no rule. The prices of the lot change with each document."""
    composer, made = local.composer(tokens), list[Sequence[Document | Skipped]]()
    spent, expected = lot.spent, lot.expected
    if not lot.prices.is_free:
        composer.forget()
    for group, more in zip(lot.groups, lot.each, strict=True):
        entries = composer.entries(group, lot.form, lot.prices, local.rules.fault)
        made.append(entries)
        spent += chars_of(entries)
        expected += more
        lot.prices.steer(spent, expected)
    return Composed(made, spent - lot.spent)


def chars_of(entries: Iterable[Document | Skipped]) -> int:
    """Return the characters of the documents among `entries`."""
    return sum(len(each.text) for each in entries if isinstance(each, Document))


def is_large(chars: int) -> bool:
    """Return whether workers compose documents of roots with so many characters."""
    return chars >= FEWEST_CHARS


class ComposerPool:
    """Works on lots by workers, or in this process if there is no pool."""

    def __init__(self, local: LocalComposers, pool: LocalPool | None = None, folder: Path = Path()) -> None:
        self.local = local
        self._pool, self._folder = pool, folder

    def run(self, work: Work[Result], tokens: int, lots: Sequence[DocumentLot], chars: int) -> Iterator[Result]:
        """Yield the result of each lot, in order. A lot whose worker ended is worked on in this process.

        `chars` are the characters of all roots of the side, not of these lots alone.
        """
        if self._pool is None or not is_large(chars):
            yield from (work(self.local, tokens, lot) for lot in lots)
            return
        each = min(_LONGEST_RUN, max(1, len(lots) // (_RUNS * worker_count())))
        runs = [lots[begin : begin + each] for begin in range(0, len(lots), each)]
        asked = ((self._stored, work, tokens, run) for run in runs)
        for run, outcome in zip(runs, self._pool.run(_worked, asked, timeout_s=_TIMEOUT_S), strict=True):
            if outcome.value is not None:
                yield from outcome.value
            else:
                _LOG.warning("a worker failed (%s); its lots of documents are composed here, slowly", outcome.failure)
                yield from (work(self.local, tokens, lot) for lot in run)

    @cached_property
    def _stored(self) -> Path:
        """The file from which workers read the materials."""
        stored = self._folder / "materials.pickle"
        with stored.open("wb") as file:
            pickle.dump(self.local.materials, file, pickle.HIGHEST_PROTOCOL)
        return stored


@contextmanager
def open_composers(folder: Path, local: LocalComposers) -> Iterator[ComposerPool]:
    """Open composers in workers for the block, as many as this machine may use. They read from `folder`."""
    if worker_count() == 1:
        yield ComposerPool(local)
        return
    pool = LocalPool(worker_count(), _WITHOUT_END)
    try:
        yield ComposerPool(local, pool, folder)
    finally:
        pool.close()


@gc_disabled
def _worked(asked: tuple[Path, Work[Result], int, Sequence[DocumentLot]]) -> list[Result]:
    """In a worker: work on lots of the materials that the parent stored."""
    stored, work, tokens, lots = asked
    return [work(_local(stored), tokens, lot) for lot in lots]


@lru_cache(1)
def _local(stored: Path) -> LocalComposers:
    with stored.open("rb") as file:
        local = LocalComposers(pickle.load(file))  # noqa: S301 - written by `ComposerPool`
    gc.freeze()  # all of this stays, so no search for cycles needs to look at it
    return local
