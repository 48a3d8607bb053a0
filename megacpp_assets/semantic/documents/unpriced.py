"""What was found while context has no price: a second search would find the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from megacpp_assets.semantic.documents.context.growth import Context
from megacpp_assets.semantic.documents.items.items import Item
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.graph.repository import PlacedRoot
from megacpp_assets.semantic.graph.spaces import Span

_KEPT_CONTEXTS = 1 << 10
"""The contexts of so many documents are kept."""
_Key = tuple[tuple[int, Span], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """Options of one document. `validates`: its roots are held out. `is_bare`: it has no context.

    Of the held-out items `sealed` only a signature is shown, or one member if nothing shorter declares them. `most` is
    the maximum number of characters, by default that of the budget.
    """

    validates: bool
    is_bare: bool = False
    sealed: frozenset[Item] = frozenset()
    most: int | None = None


class Search(NamedTuple):
    """The context that was found for a document, and the characters that it took."""

    context: Context
    chars: int


class Unpriced:
    """The contexts and documents of roots in a form that were made while context has no price."""

    def __init__(self) -> None:
        self._contexts: dict[tuple[Form, _Key], Search] = {}
        self._documents: dict[tuple[Form, _Key], Document] = {}

    def keep_context(self, roots: Sequence[PlacedRoot], form: Form, context: Context, chars: int) -> None:
        """Keep the context of `roots`, which took `chars`, if there is room for it."""
        if len(self._contexts) < _KEPT_CONTEXTS:
            self._contexts[form, _key(roots)] = Search(context, chars)

    def context(self, roots: Sequence[PlacedRoot], form: Form) -> Search | None:
        """Return the context of `roots` that was kept."""
        return self._contexts.get((form, _key(roots)))

    def keep_document(self, roots: Sequence[PlacedRoot], form: Form, document: Document) -> None:
        """Keep the document of `roots`."""
        self._documents[form, _key(roots)] = document

    def document(self, roots: Sequence[PlacedRoot], form: Form) -> Document | None:
        """Return the document of `roots` that was kept."""
        return self._documents.get((form, _key(roots)))


def _key(roots: Sequence[PlacedRoot]) -> _Key:
    return tuple((place.file, place.span) for place in roots)
