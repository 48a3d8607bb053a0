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
from megacpp_assets.semantic.analysis import Span
from megacpp_assets.semantic.char_store import CharStore, joined
from megacpp_assets.semantic.chunks import Root
from megacpp_assets.semantic.dependencies import SEPARATOR_CHARS, Budget, Unit, dependencies
from megacpp_assets.semantic.link import CONFIDENCES, TYPE_EDGE
from megacpp_assets.semantic.repository import Repository

SEPARATOR = "\n\n"
HEAD_SEPARATOR = "\n"
CHARS_PER_TOKEN = 4
"""The estimate of a document's tokens is its characters over this."""
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
    """A root with its surroundings. `edges` are (user, used, edge kind, confidence) over `boundaries`."""

    file: int
    root: Root
    byte_start: int
    byte_end: int
    text: str
    chars: NDArray[np.void]
    boundaries: tuple[Boundary, ...]
    constituents: tuple[Constituent, ...]
    edges: tuple[tuple[int, int, int, str], ...]

    def type_edges(self) -> Iterator[tuple[int, int, str]]:
        """(type, user, confidence)."""
        return ((used, user, sure) for user, used, edge, sure in self.edges if edge == TYPE_EDGE)

    def call_edges(self) -> Iterator[tuple[int, int, str]]:
        """(caller, callee, confidence)."""
        return ((user, used, sure) for user, used, edge, sure in self.edges if edge != TYPE_EDGE)


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
    base = 0
    for file, root in repository.roots:
        unit = (base, base + root.last - root.first)
        base = unit[1]
        first, last = repository.nodes[unit[0]], repository.nodes[unit[1] - 1]
        source = repository.files[file].source
        text = source.text[first.char_start : last.char_end]
        key = hashlib.sha256(text.encode()).digest()
        if len(text) < _LEAST_CHARS.get(root.kind, _LEAST_CHARS_OTHERWISE):
            yield Skipped(source.path, root.name, first.chunk.start, last.chunk.end, SHORT)
        elif key in taken:
            reason = f"same text as {taken[key]}"
            yield Skipped(source.path, root.name, first.chunk.start, last.chunk.end, reason)
        else:
            taken[key] = f"{source.path}:{first.chunk.start}"
            yield _assemble(repository, chars, recipe, (file, root, unit))


def _assemble(
    repository: Repository, chars: CharStore, recipe: SemanticRecipe, place: tuple[int, Root, Unit]
) -> Document:
    file, root, unit = place
    builder = _Builder(repository, chars)
    start, end = repository.nodes[unit[0]].chunk.start, repository.nodes[unit[1] - 1].chunk.end
    room = recipe.document_tokens * CHARS_PER_TOKEN
    own = repository.nodes[unit[1] - 1].char_end - repository.nodes[unit[0]].char_start
    head = _head(repository, file, start, min(room // _HEAD_SHARE, room - own - SEPARATOR_CHARS))
    spaces, space_name = _spaces(repository, file, start)
    spent = own + sum(span.char_end - span.char_start + SEPARATOR_CHARS for span in (*head, *spaces))
    budget = Budget(room - spent, recipe.document_tokens // _TOKENS_PER_CHUNK, recipe.dependency_depth)
    if head:
        builder.context(file, head, "preamble", "")
    for used in dependencies(repository, unit, budget):
        builder.unit(used)
    if spaces:
        builder.context(file, spaces, "namespace", space_name)
    builder.unit(unit)
    return builder.finish(file, root, (start, end))


def _head(repository: Repository, file: int, before: int, room: int) -> list[Span]:
    """The file's includes and using-declarations above byte `before`, as many as fit in `room` characters."""
    chosen = []
    for span in repository.files[file].head:
        room -= span.char_end - span.char_start + SEPARATOR_CHARS
        if span.end > before or room < 0:
            break
        chosen.append(span)
    return chosen


def _spaces(repository: Repository, file: int, at: int) -> tuple[list[Span], str]:
    """Openings of the namespaces around byte `at`, outermost first, and the innermost's name."""
    around = [space for space in repository.files[file].spaces if space.opening.end <= at < space.end]
    return [space.opening for space in around], around[-1].name if around else ""


class _Builder:
    """A document in the making: pieces are appended in order."""

    def __init__(self, repository: Repository, chars: CharStore) -> None:
        self._repository = repository
        self._store = chars
        self._texts: list[str] = []
        self._size = 0
        self._slices: list[tuple[int, NDArray[np.void]]] = []
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
        self._slices.append((self._size, self._store.slice(file, start, end)))
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
            chars=joined(self._size, self._slices),
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
