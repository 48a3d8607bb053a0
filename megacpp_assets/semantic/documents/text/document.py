"""A document and its writer. A document is slices of files in order, with a few characters that are in no file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.names import CONTEXT_ROLE, SYNTHETIC_ROLE
from megacpp_assets.semantic.documents.text.constituents import Boundary, Constituent
from megacpp_assets.semantic.documents.text.rules import Shown
from megacpp_assets.semantic.graph.chunks import Root
from megacpp_assets.semantic.graph.link import CALL_EDGE, CONFIDENCES, TYPE_EDGE
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository
from megacpp_assets.semantic.graph.spaces import Span
from megacpp_assets.semantic.labels.char_store import CharStore, Part, Texts


class Recall(NamedTuple):
    """Counts the entities of the repository that roots use and do not declare, once for each root.

    `found` of these `uses` are declared in the document.
    """

    uses: int
    found: int


@dataclass(frozen=True, slots=True)
class Document:
    """Roots with their context. `parts` are its characters, and `roles` has the role of each character.

    `file`, `root`, `byte_start` and `byte_end` are those of the first root. `roots` has the chunks of each root, as a
    range of chunk numbers of the repository; `chunks` has all chunks in the document. `edges` are (user, used, edge
    kind, confidence) over `boundaries`. `validates` is true if the roots are held out. `broken_rule` is the rule that
    these roots broke in a document with other roots or with context; "" if none.
    """

    file: int
    root: Root
    roots: tuple[tuple[int, int], ...]
    byte_start: int
    byte_end: int
    validates: bool
    text: str
    parts: tuple[Part, ...]
    roles: NDArray[np.uint8]
    boundaries: tuple[Boundary, ...]
    chunks: tuple[int, ...]
    constituents: tuple[Constituent, ...]
    edges: tuple[tuple[int, int, int, str], ...]
    recall: Recall
    broken_rule: str = ""

    @property
    def has_context(self) -> bool:
        """Whether the document shows more than its roots."""
        return bool((self.roles == CONTEXT_ROLE).any())

    def chars(self, store: CharStore) -> NDArray[np.void]:
        """Return the columns of its characters (paint.CHAR_DTYPE) from the `store` of its repository."""
        return store.joined(len(self.text), self.parts)

    @property
    def shown(self) -> Shown:
        """The values that the rules of documents check."""
        edges = [(user, used) for user, used, _, _ in self.edges]
        return Shown(self.text, self.constituents, self.boundaries, edges, self.roles)

    def arrays(self, store: CharStore) -> Texts:
        """Return JSON arrays of the painted columns, one value per character, from the `store` of its repository."""
        return store.arrays(len(self.text), self.parts)

    def type_edges(self) -> Iterator[tuple[int, int, str]]:
        """Yield (type, user, confidence)."""
        return ((used, user, sure) for user, used, edge, sure in self.edges if edge == TYPE_EDGE)

    def call_edges(self) -> Iterator[tuple[int, int, str]]:
        """Yield (caller, callee, confidence)."""
        return ((user, used, sure) for user, used, edge, sure in self.edges if edge == CALL_EDGE)


_MERGED_CHARS = 400
"""Adjacent small declarations of one kind form one chunk until it has so many characters."""


class DocumentWriter:
    """Builds a document: text is appended in order."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._texts: list[str] = []
        self._roles: list[tuple[int, int]] = []
        self.parts: list[Part] = []
        self._constituents: list[Constituent] = []
        self._taken: set[tuple[int, int]] = set()
        self._reserved: dict[int, list[Span]] = {}
        self._users: set[int] = set()
        self._last: int | None = None
        self.boundaries: list[Boundary] = []
        self.place: dict[int, int] = {}
        """The index of the boundary of each chunk in the document."""
        self.size = 0

    def synthetic(self, text: str) -> None:
        """Append characters that are in no file."""
        self._append(text, SYNTHETIC_ROLE)

    def slice(self, file: int, span: Span, role: int) -> int:
        """Append an exact slice of a file, and return the place where it begins."""
        source = self._repository.files[file].source
        begin = self.size
        self._append(source.text[span.char_start : span.char_end], role)
        self.parts.append(Part(begin, file, span.char_start, span.char_end))
        start, end = source.in_blob(span.start), source.in_blob(span.end)
        self._constituents.append(Constituent(source.path, start, end, begin, self.size, role, source.encoding))
        self._taken.add((file, span.start))
        return begin

    def reserve(self, file: int, span: Span) -> None:
        """Let `once` append no slice in `span`, because another slice will have it."""
        self._reserved.setdefault(file, []).append(span)

    def once(self, file: int, span: Span, role: int) -> None:
        """Append a slice of a file, or its text as characters that are in no file if another slice has it."""
        is_reserved = any(each.start <= span.start < each.end for each in self._reserved.get(file, ()))
        if is_reserved or (file, span.start) in self._taken:
            self.synthetic(self._repository.files[file].source.text[span.char_start : span.char_end])
        else:
            self.slice(file, span, role)

    def context(self, begin: int, kind: str, name: str) -> None:
        """Make the text since `begin` a chunk without edges."""
        self.boundaries.append(Boundary(begin, self.size, kind, name, 0, True))
        self._last = None

    def chunk(self, number: int, begin: int, end: int, kind: str, *, uses: bool) -> None:
        """Make [begin, end) the place of chunk `number`. `uses` is true if the text shows what the chunk uses."""
        node = self._repository.nodes[number]
        level, leaf = self._repository.level[number], self._repository.leaf[number]
        boundary = Boundary(begin, end, kind, node.chunk.name, level, leaf)
        if self.boundaries and self._goes_on(number, boundary):
            self.boundaries[-1] = replace(self.boundaries[-1], char_end=end)
        else:
            self.boundaries.append(boundary)
        self.place[number] = len(self.boundaries) - 1
        self._last = number
        if uses:
            self._users.add(number)

    def stands(self, numbers: Collection[int]) -> None:
        """Record that the last chunk shows parts of the chunks `numbers` too.

        Its dependency level becomes the lowest of theirs, because whatever uses one of them uses it.
        """
        self.place.update((number, len(self.boundaries) - 1) for number in numbers)
        last = self.boundaries[-1]
        level = min((last.dep_level, *(self._repository.level[number] for number in numbers)))
        self.boundaries[-1] = replace(last, dep_level=level)

    def _goes_on(self, number: int, boundary: Boundary) -> bool:
        """Return whether chunk `number` at `boundary` extends the chunk before it.

        It does if both are small declarations of one kind and level with only white space between them.
        """
        last, first = self.boundaries[-1], self._last
        alike = (last.kind, last.dep_level, last.is_leaf) == (boundary.kind, boundary.dep_level, boundary.is_leaf)
        if first is None or not alike or last.char_end - last.char_offset >= _MERGED_CHARS:
            return False
        small = self._is_small(first) and self._is_small(number)
        return small and not self._between(last.char_end, boundary.char_offset).strip()

    def _is_small(self, number: int) -> bool:
        node = self._repository.nodes[number]
        return node.signature is None and node.chunk.kind != "func_body" and node.unit[1] - node.unit[0] == 1

    def _between(self, begin: int, end: int) -> str:
        """Return the text in [begin, end)."""
        texts: list[str] = []
        reached = self.size
        for text in reversed(self._texts):
            if reached <= begin:
                break
            reached -= len(text)
            texts.append(text)
        return "".join(reversed(texts))[begin - reached : end - reached]

    def _append(self, text: str, role: int) -> None:
        self._texts.append(text)
        self._roles.append((role, len(text)))
        self.size += len(text)

    def finish(self, roots: Sequence[PlacedRoot], *, validates: bool, recall: Recall) -> Document:
        """Return the document of these `roots`. Its place in the file is that of the first root."""
        leading = roots[0]
        source = self._repository.files[leading.file].source
        values, lengths = zip(*self._roles, strict=True)
        return Document(
            file=leading.file,
            root=leading.root,
            roots=tuple(place.unit for place in roots),
            byte_start=source.in_blob(leading.span.start),
            byte_end=source.in_blob(leading.span.end),
            validates=validates,
            text="".join(self._texts),
            parts=tuple(self.parts),
            roles=np.repeat(np.array(values, dtype=np.uint8), lengths),
            boundaries=tuple(self.boundaries),
            chunks=tuple(self.place),
            constituents=tuple(self._constituents),
            edges=tuple(self._edges()),
            recall=recall,
        )

    def _edges(self) -> Iterator[tuple[int, int, int, str]]:
        """Yield the edges between chunks of the document, each once, with the highest confidence of its kind."""
        found: dict[tuple[int, int, int], int] = {}
        for number in sorted(self._users):
            for target, edge, confidence in self._repository.out[number]:
                key = self.place[number], self.place.get(target, self.place[number]), edge
                if key[0] != key[1] and edge in (CALL_EDGE, TYPE_EDGE):
                    found[key] = min(confidence, found.get(key, confidence))
        return ((*key, CONFIDENCES[confidence]) for key, confidence in found.items())


class SliceRecorder(DocumentWriter):
    """Records the `parts` of a document that is written to it. It keeps no text and makes no document."""

    def synthetic(self, text: str) -> None:
        """Count characters that are in no file."""
        self.size += len(text)

    def slice(self, file: int, span: Span, role: int) -> int:
        """Record a slice of a file, and return the place where it begins."""
        begin = self.size
        self.size += span.char_end - span.char_start
        self.parts.append(Part(begin, file, span.char_start, span.char_end))
        self._taken.add((file, span.start))
        return begin

    def context(self, begin: int, kind: str, name: str) -> None:
        """Record nothing: parts have no chunks."""

    def chunk(self, number: int, begin: int, end: int, kind: str, *, uses: bool) -> None:
        """Record nothing: parts have no chunks."""

    def stands(self, numbers: Collection[int]) -> None:
        """Record nothing: parts have no chunks."""
