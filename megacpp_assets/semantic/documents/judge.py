"""Checks documents before they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from megacpp_assets.compute.shingles import Shingles, Withheld, shingles
from megacpp_assets.semantic.documents.items.items import Item
from megacpp_assets.semantic.documents.roots.denied import NOTHING_DENIED, Denied
from megacpp_assets.semantic.documents.roots.held_out import (
    NOTHING_HELD,
    RUN_TOKENS,
    HeldOut,
    runs_of_definition,
    where,
)
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.documents.text.platform_rules import match_text
from megacpp_assets.semantic.documents.text.platforms import platform_ids
from megacpp_assets.semantic.documents.text.rules import RULES
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository


class Fault(NamedTuple):
    """A rule that a document breaks, by the name of the stage's check, and the place.

    `leaked` has the chunks of a held-out definition that the document would show whole, if that is the rule.
    """

    rule: str
    place: str
    leaked: Item = (0, 0)


class Rules:
    """Checks what a document of one repository must hold by itself."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._numbers = {facts.source.path: number for number, facts in enumerate(repository.files)}

    def fault(self, document: Document) -> Fault | None:
        """Return the first rule that `document` breaks."""
        shown = document.shown
        for name, rule in RULES.items():
            if place := rule(shown, self._bytes):
                return Fault(name, place)
        if not self._platforms_recorded(document):
            return Fault("platforms_recorded", document.constituents[0].filepath)
        return None

    def _bytes(self, path: str) -> bytes:
        number = self._numbers.get(path)
        return b"" if number is None else self._repository.files[number].source.blob

    def _platforms_recorded(self, document: Document) -> bool:
        standard = self._repository.files[document.file].parsed.standard
        files = [part.filepath for part in document.constituents]
        return match_text(platform_ids(document.text, standard, files), document.text, standard, files)


class Judge:
    """Checks what the documents of one repository show together, for all budgets in turn.

    Training documents must not complete a definition of the files `held`. No document may have a root of `denied`.
    """

    def __init__(self, repository: Repository, held: HeldOut = NOTHING_HELD, denied: Denied = NOTHING_DENIED) -> None:
        self.held = held
        self.denied = denied
        self._repository = repository
        self._held_roots: Sequence[PlacedRoot] = [place for place in repository.roots if place.file in held.files]
        self._withheld = self._withholding(self._held_roots)

    def withhold(self, parts: Iterable[PlacedRoot]) -> None:
        """Withhold also the `parts` of held-out roots, which are documents of their own. No document may be judged yet.

        A training document may show all of a part and not all of its root: a function that uses half of the enumerators
        of a long enumeration.
        """
        self._held_roots = [*self._held_roots, *parts]
        self._withheld = self._withholding(self._held_roots)

    def _withholding(self, places: Sequence[PlacedRoot]) -> Withheld:
        return Withheld([_runs(self._repository, place) for place in places])

    def leak(self, document: Document) -> Fault | None:
        """Return the held-out definition that `document` would complete. If there is none, it counts as published."""
        if not document.validates:
            whole = self._withheld.completed_by(shingles(document.text, RUN_TOKENS))
            if whole is not None:
                held = self._held_roots[whole]
                return Fault("no_validation_leak", where(self._repository, held), held.unit)
        return None


def _runs(repository: Repository, place: PlacedRoot) -> Shingles:
    text = repository.files[place.file].source.text[place.span.char_start : place.span.char_end]
    return runs_of_definition(text, place.span.end - place.span.start)
