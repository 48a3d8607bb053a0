"""One document per root: preamble, dependencies by ascending level, the namespaces it stands in, the root itself.

Pieces are exact slices of files, joined by blank lines; every column has one value per character of the text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.recipe import SemanticRecipe
from megacpp_assets.semantic.documents.analysis import Span
from megacpp_assets.semantic.documents.chunks import Root
from megacpp_assets.semantic.documents.dependencies import SEPARATOR_CHARS, Budget, Unit, dependencies
from megacpp_assets.semantic.documents.link import CALL_EDGE, CONFIDENCES, TYPE_EDGE
from megacpp_assets.semantic.documents.repository import PlacedRoot, Repository
from megacpp_assets.semantic.labels.char_store import CharStore, Part, Texts

SEPARATOR = "\n\n"
HEAD_SEPARATOR = "\n"
CHARS_PER_TOKEN = 4
"""The estimate of a document's tokens is its characters over this."""
_FILLED_SHARE = 0.9
"""Part of the estimate that dependencies may fill: where the exact count is larger, stage 3 splits off the end of the
document, which is its root's."""
_HEAD_SHARE = 8
"""At most one part in this many of a document is preamble."""
_TOKENS_PER_CHUNK = 48
"""A row has a chunk slot for every 32 tokens; documents stay below that."""


@dataclass(frozen=True, slots=True)
class Constituent:
    """Where the characters [char_start, char_end) of a document came from."""

    filepath: str
    byte_start: int
    byte_end: int
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class Boundary:
    """A chunk in a document, half-open in characters."""

    char_offset: int
    char_end: int
    kind: str
    name: str
    dep_level: int
    is_leaf: bool


@dataclass(frozen=True, slots=True)
class Document:
    """A root with its surroundings; `parts` of `store` are its characters.

    `edges` are (user, used, edge kind, confidence) over `boundaries`.
    """

    file: int
    root: Root
    byte_start: int
    byte_end: int
    text: str
    store: CharStore
    parts: tuple[Part, ...]
    boundaries: tuple[Boundary, ...]
    constituents: tuple[Constituent, ...]
    edges: tuple[tuple[int, int, int, str], ...]

    @property
    def chars(self) -> NDArray[np.void]:
        """Its characters (paint.CHAR_DTYPE)."""
        return self.store.joined(len(self.text), self.parts)

    def arrays(self) -> Texts:
        """JSON arrays of CHAR_COLUMNS, one value per character."""
        return self.store.arrays(len(self.text), self.parts)

    def type_edges(self) -> Iterator[tuple[int, int, str]]:
        """(type, user, confidence)."""
        return ((used, user, sure) for user, used, edge, sure in self.edges if edge == TYPE_EDGE)

    def call_edges(self) -> Iterator[tuple[int, int, str]]:
        """(caller, callee, confidence)."""
        return ((user, used, sure) for user, used, edge, sure in self.edges if edge == CALL_EDGE)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A definition or a file that no document has as its root, and why."""

    path: str
    name: str
    byte_start: int
    byte_end: int
    reason: str


SHORT = "too short"
_LEAST_CHARS = {"class_decl": 8, "typedef": 8}
_LEAST_CHARS_OTHERWISE = 20


def documents(repository: Repository, chars: CharStore, recipe: SemanticRecipe) -> Iterator[Document | Skipped]:
    """Every root of the repository, by path and offset: its document, or why it has none."""
    taken: dict[bytes, str] = {}
    for place in repository.roots:
        first, last = repository.nodes[place.unit[0]], repository.nodes[place.unit[1] - 1]
        source = repository.files[place.file].source
        text = source.text[first.char_start : last.char_end]
        key = hashlib.sha256(text.encode()).digest()
        reason = f"same text as {taken[key]}" if key in taken else ""
        if len(text) < _LEAST_CHARS.get(place.root.kind, _LEAST_CHARS_OTHERWISE):
            reason = SHORT
        if reason:
            yield Skipped(source.path, place.root.name, first.chunk.start, last.chunk.end, reason)
        else:
            taken[key] = f"{source.path}:{first.chunk.start}"
            yield _assemble(repository, chars, recipe, place)


def _assemble(repository: Repository, chars: CharStore, recipe: SemanticRecipe, place: PlacedRoot) -> Document:
    builder = _Builder(repository, chars)
    first, last = repository.nodes[place.unit[0]], repository.nodes[place.unit[1] - 1]
    room = recipe.document_tokens * CHARS_PER_TOKEN
    own = last.char_end - first.char_start
    head_room = min(room // _HEAD_SHARE, room - own - SEPARATOR_CHARS)
    head = _head(repository, place.file, first.chunk.start, head_room)
    spaces = [space.opening for space in place.spaces]
    spent = own + sum(span.char_end - span.char_start + SEPARATOR_CHARS for span in (*head, *spaces))
    budget = Budget(
        int(room * _FILLED_SHARE) - spent, recipe.document_tokens // _TOKENS_PER_CHUNK, recipe.dependency_depth
    )
    if head:
        builder.context(place.file, head, "preamble", "")
    for used in dependencies(repository, place.unit, budget):
        builder.unit(used)
    if spaces:
        builder.context(place.file, spaces, "namespace", place.spaces[-1].name)
    builder.unit(place.unit)
    return builder.finish(place.file, place.root, (first.chunk.start, last.chunk.end))


def _head(repository: Repository, file: int, before: int, room: int) -> list[Span]:
    """The file's includes and using-declarations above byte `before`, as many as fit in `room` characters."""
    chosen = []
    for span in repository.files[file].head:
        room -= span.char_end - span.char_start + SEPARATOR_CHARS
        if span.end > before or room < 0:
            break
        chosen.append(span)
    return chosen


class _Builder:
    """A document in the making: pieces are appended in order."""

    def __init__(self, repository: Repository, chars: CharStore) -> None:
        self._repository = repository
        self._store = chars
        self._texts: list[str] = []
        self._size = 0
        self._parts: list[Part] = []
        self._boundaries: list[Boundary] = []
        self._constituents: list[Constituent] = []
        self._local: dict[int, int] = {}

    def unit(self, unit: Unit) -> None:
        """Append chunks that are contiguous in their file."""
        first, last = self._repository.nodes[unit[0]], self._repository.nodes[unit[1] - 1]
        span = Span(first.chunk.start, last.chunk.end, first.char_start, last.char_end)
        offset = self._piece(first.file, span, SEPARATOR) - first.char_start
        for number in range(*unit):
            node = self._repository.nodes[number]
            self._local[number] = len(self._boundaries)
            self._boundaries.append(
                Boundary(
                    offset + node.char_start,
                    offset + node.char_end,
                    node.chunk.kind,
                    node.chunk.name,
                    self._repository.level[number],
                    self._repository.leaf[number],
                )
            )

    def context(self, file: int, spans: Sequence[Span], kind: str, name: str) -> None:
        """Append stretches of one file as one chunk without edges."""
        places = [
            self._piece(file, span, SEPARATOR if number == 0 else HEAD_SEPARATOR) for number, span in enumerate(spans)
        ]
        self._boundaries.append(Boundary(places[0], self._size, kind, name, 0, True))

    def _piece(self, file: int, span: Span, separator: str) -> int:
        """Append one exact slice of a file; return where it begins."""
        source = self._repository.files[file].source
        if self._texts:
            self._texts.append(separator)
            self._size += len(separator)
        start, end = span.char_start, span.char_end
        self._texts.append(source.text[start:end])
        self._parts.append(Part(self._size, file, start, end))
        begin, self._size = self._size, self._size + end - start
        self._constituents.append(Constituent(source.path, span.start, span.end, begin, self._size))
        return begin

    def finish(self, file: int, root: Root, bytes_: tuple[int, int]) -> Document:
        """The document."""
        return Document(
            file=file,
            root=root,
            byte_start=bytes_[0],
            byte_end=bytes_[1],
            text="".join(self._texts),
            store=self._store,
            parts=tuple(self._parts),
            boundaries=tuple(self._boundaries),
            constituents=tuple(self._constituents),
            edges=tuple(self._edges()),
        )

    def _edges(self) -> Iterator[tuple[int, int, int, str]]:
        for number, user in self._local.items():
            for target, edge, confidence in self._repository.out[number]:
                used = self._local.get(target)
                if used is not None:
                    yield user, used, edge, CONFIDENCES[confidence]
