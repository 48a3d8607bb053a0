"""A document and its writer. A document is slices of files in order, with a few characters that are in no file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
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


class Origin(NamedTuple):
    """Where a slice came from: the bytes [start, end) of the commit's file, which are characters in `encoding`."""

    path: str
    start: int
    end: int
    role: int
    encoding: str


class Written(NamedTuple):
    """A piece as it is in each document that shows it, with places from its own beginning.

    `parts` are its slices, each from one of `origins`, and `taken` their files and first bytes. `chunks` are arguments
    of `DocumentWriter.chunk`, or collections of chunks for `DocumentWriter.stands`.
    """

    text: str
    roles: Sequence[tuple[int, int]]
    parts: Sequence[Part]
    origins: Sequence[Origin]
    taken: Collection[tuple[int, int]]
    chunks: Sequence[tuple[int, int, int, str, bool] | Collection[int]]


@dataclass(slots=True)
class _Chunk:
    """A chunk that may still grow; see `Boundary`."""

    begin: int
    end: int
    kind: str
    name: str
    level: int
    leaf: bool

    def boundary(self) -> Boundary:
        """Return its place as a document has it."""
        return Boundary(self.begin, self.end, self.kind, self.name, self.level, self.leaf)


class DocumentWriter:
    """Builds a document: text is appended in order. If it `follows` a head, the head is written later."""

    def __init__(self, repository: Repository, *, follows: bool = False) -> None:
        self._repository = repository
        self._follows = follows
        self._texts: list[str] = []
        self._roles: list[tuple[int, int]] = []
        self.parts: list[Part] = []
        self._origins: list[Origin] = []
        self._taken: set[tuple[int, int]] = set()
        self._chosen: set[tuple[int, int]] = set()
        """Of `_taken`, those that another slice could have had."""
        self._reserved: dict[int, set[tuple[int, int]]] = {}
        self._users: set[int] = set()
        self._is_last_small = False
        self._chunks: list[_Chunk] = []
        self.place: dict[int, int] = {}
        """The index of the boundary of each chunk in the document."""
        self.size = 0

    @property
    def has_text(self) -> bool:
        """Whether there is text above what is written next."""
        return self._follows or self.size > 0

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
        self._origins.append(Origin(source.path, start, end, role, source.encoding))
        self._taken.add((file, span.start))
        return begin

    def reserve(self, file: int, span: Span) -> None:
        """Let `once` append no slice in `span`, because another slice will have it."""
        self._reserved.setdefault(file, set()).add((span.start, span.end))

    def once(self, file: int, span: Span, role: int) -> None:
        """Append a slice of a file, or its text as characters that are in no file if another slice has it."""
        place, first = (file, span.start), span.start
        if place in self._taken or any(start <= first < end for start, end in self._reserved.get(file, ())):
            self.synthetic(self._repository.files[file].source.text[span.char_start : span.char_end])
        else:
            self._chosen.add(place)
            self.slice(file, span, role)

    def context(self, begin: int, kind: str, name: str) -> None:
        """Make the text since `begin` a chunk without edges."""
        self._chunks.append(_Chunk(begin, self.size, kind, name, 0, True))
        self._is_last_small = False

    def chunk(self, number: int, begin: int, end: int, kind: str, *, uses: bool) -> None:
        """Make [begin, end) the place of chunk `number`. `uses` is true if the text shows what the chunk uses.

        It extends the chunk before it if both are small declarations of one kind and level with only white space
        between them.
        """
        node = self._repository.nodes[number]
        level, leaf = self._repository.level[number], self._repository.leaf[number]
        is_small = node.signature is None and node.chunk.kind != "func_body" and node.unit[1] - node.unit[0] == 1
        last = self._chunks[-1] if is_small and self._is_last_small else None
        if last and (last.kind, last.level, last.leaf) == (kind, level, leaf) and self._goes_on(last, begin):
            last.end = end
        else:
            self._chunks.append(_Chunk(begin, end, kind, node.chunk.name, level, leaf))
        self.place[number] = len(self._chunks) - 1
        self._is_last_small = is_small
        if uses:
            self._users.add(number)

    def stands(self, numbers: Collection[int]) -> None:
        """Record that the last chunk shows parts of the chunks `numbers` too.

        Its dependency level becomes the lowest of theirs, because whatever uses one of them uses it.
        """
        last, place = self._chunks[-1], len(self._chunks) - 1
        for number in numbers:
            self.place[number] = place
            last.level = min(last.level, self._repository.level[number])

    def write(self, piece: Written) -> None:
        """Append a piece that was written before."""
        base = self.size
        self._texts.append(piece.text)
        self._roles += piece.roles
        self.size += len(piece.text)
        self.parts += [Part(base + begin, *place) for begin, *place in piece.parts]
        self._origins += piece.origins
        self._taken.update(piece.taken)
        for each in piece.chunks:
            if isinstance(each, tuple):
                number, begin, end, kind, uses = each
                self.chunk(number, base + begin, base + end, kind, uses=uses)
            else:
                self.stands(each)

    def try_append(self, body: DocumentWriter) -> bool:
        """Append the text below this head and return True. Return False if it must be written again.

        It must if the head has lines of files which the text has too, or if it keeps the text from having some.
        """
        if self._reserved or not self._taken.isdisjoint(body._chosen):
            return False
        # Above nothing there is no blank line.
        begun = 0 if self.size else 1
        shift, first = self.size - sum(map(len, body._texts[:begun])), len(self._chunks)
        self._texts += body._texts[begun:]
        self._roles += body._roles[begun:]
        self.parts += [Part(shift + begin, *place) for begin, *place in body.parts]
        self._origins += body._origins
        for each in body._chunks:
            each.begin += shift
            each.end += shift
        self._chunks += body._chunks
        self.place |= {number: first + place for number, place in body.place.items()}
        self._users |= body._users
        self.size = shift + body.size
        return True

    def _goes_on(self, last: _Chunk, begin: int) -> bool:
        """Return whether the last chunk is short and only white space is between it and `begin`."""
        return last.end - last.begin < _MERGED_CHARS and not self._between(last.end, begin).strip()

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
            boundaries=tuple(each.boundary() for each in self._chunks),
            chunks=tuple(self.place),
            constituents=tuple(self._constituents()),
            edges=tuple(self._edges()),
            recall=recall,
        )

    def _constituents(self) -> Iterator[Constituent]:
        for (begin, _, first, last), (path, start, end, role, encoding) in zip(self.parts, self._origins, strict=True):
            yield Constituent(path, start, end, begin, begin + last - first, role, encoding)

    def _edges(self) -> Iterator[tuple[int, int, int, str]]:
        """Yield the edges between chunks of the document, each once, with the highest confidence of its kind."""
        found: dict[tuple[int, int, int], int] = {}
        for number in sorted(self._users):
            user = self.place[number]
            for target, edge, confidence in self._repository.out[number]:
                used = self.place.get(target, user)
                if used != user and edge in (CALL_EDGE, TYPE_EDGE):
                    key = user, used, edge
                    found[key] = min(confidence, found.get(key, confidence))
        return ((*key, CONFIDENCES[confidence]) for key, confidence in found.items())


class PieceRecorder(DocumentWriter):
    """Records a piece that is written to it, so that documents need not write the piece again."""

    def __init__(self, repository: Repository) -> None:
        super().__init__(repository)
        self._calls: list[tuple[int, int, int, str, bool] | Collection[int]] = []

    def chunk(self, number: int, begin: int, end: int, kind: str, *, uses: bool) -> None:
        """Record the place of a chunk."""
        self._calls.append((number, begin, end, kind, uses))

    def stands(self, numbers: Collection[int]) -> None:
        """Record which chunks the last chunk shows too."""
        self._calls.append(list(numbers))

    def written(self) -> Written | None:
        """Return the piece; None if its text is another one where lines of it are shown before."""
        if self._chosen:
            return None
        text = "".join(self._texts)
        return Written(text, self._roles, self.parts, self._origins, self._taken, self._calls)
