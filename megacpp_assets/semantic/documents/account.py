"""Accounts for all definitions of a repository: each is in a document of every budget, or in the skip list."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from megacpp_assets.contract.names import LEFT_OUT
from megacpp_assets.semantic.documents.composer import Skipped
from megacpp_assets.semantic.documents.lost import Ranges, holds, lost_bodies, merged
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.symbol_rows import KINDS, MACRO, NAMESPACE

_ASIDE = [KINDS.index(MACRO), KINDS.index(NAMESPACE)]
"""Kinds that are not placed: a namespace is larger than any document, and an include guard belongs to none."""
_PLACED = f"{LEFT_OUT}definitions_are_placed: no document has room for it or knows its end"


class Account:
    """The skip list of a repository, and the places of its text in the documents of each budget."""

    def __init__(self, repository: Repository, skipped: Iterable[Skipped]) -> None:
        self._repository = repository
        self._skipped = dict.fromkeys(skipped)
        self._placed: dict[int, dict[str, array[int]]] = defaultdict(lambda: defaultdict(lambda: array("q")))

    def skip(self, entry: Skipped) -> None:
        """Add a root without a document. Every budget reports it; it is listed once."""
        self._skipped[entry] = None

    def place(self, budget: int, document: Document) -> None:
        """Record the text of a published document."""
        for part in document.constituents:
            self._placed[budget][part.filepath].extend((part.byte_start, part.byte_end))

    def settle(self, budgets: Iterable[int]) -> list[Skipped]:
        """Return the skip list, with the definitions that are in no document of one of the `budgets` added."""
        known: dict[str, Ranges] = defaultdict(list)
        for entry in self._skipped:
            known[entry.path].append((entry.byte_start, entry.byte_end))
        for budget in budgets:
            for facts in self._repository.files:
                path = facts.source.path
                placed = iter(self._placed[budget].get(path, ()))
                for entry in _lost(facts, [*zip(placed, placed, strict=True), *known.get(path, ())]):
                    self.skip(entry)
        return list(self._skipped)


def left_out(skipped: Iterable[Skipped]) -> dict[str, int]:
    """Return the number of definitions that each rule left out, by the rule's name."""
    reasons = (entry.reason.removeprefix(LEFT_OUT) for entry in skipped if entry.reason.startswith(LEFT_OUT))
    return dict(sorted(Counter(reason.partition(":")[0] for reason in reasons).items()))


def _lost(facts: FileFacts, placed: Ranges) -> Iterator[Skipped]:
    """Yield the definitions of a file, then the bodies, that are in none of the `placed` ranges."""
    source, entities, placed, reached = facts.source, facts.entities, facts.source.from_blob(placed), 0
    ranges = merged(placed)
    wanted = np.flatnonzero(entities.definition & ~np.isin(entities.kind, _ASIDE)).tolist()
    for number in wanted:
        start, end = int(entities.start[number]), int(entities.end[number])
        if end > reached and not holds(ranges, start, end):  # what a lost definition holds is lost with it
            yield Skipped(source.path, entities.name[number], source.in_blob(start), source.in_blob(end), _PLACED)
            placed.append((start, end))
            reached = end
    for start, end in lost_bodies(source.data, placed):
        yield Skipped(source.path, "", source.in_blob(start), source.in_blob(end), _PLACED)
