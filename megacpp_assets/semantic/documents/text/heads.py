"""Writes the head of a document: include directives under their conditions, after the directives they depend on.

A condition may depend on macros that the text below defines. Such a directive comes behind the last of them. What a
header shows only to files that define a macro first comes with the definition of that macro.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import NamedTuple

from megacpp_assets.contract.names import CONTEXT_ROLE
from megacpp_assets.semantic.documents.items.items import Items
from megacpp_assets.semantic.documents.items.recent import FILES, recent
from megacpp_assets.semantic.documents.items.words import WORD
from megacpp_assets.semantic.documents.text.document import DocumentWriter
from megacpp_assets.semantic.documents.text.included import Included
from megacpp_assets.semantic.documents.text.macro_order import Macros
from megacpp_assets.semantic.documents.text.order import FileOrder, Piece
from megacpp_assets.semantic.documents.text.scopes import Scopes, ScopeTexts
from megacpp_assets.semantic.graph.directives import HeadLine
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Span
from megacpp_assets.semantic.labels.char_store import Part
from megacpp_assets.semantic.tree.attribute_macros import generated

_LEAST_BELOW = 3
"""A head has at most this fraction of the characters below it."""


class PlacedLine(NamedTuple):
    """A directive of a file, by the file's number."""

    file: int
    line: HeadLine


class Heads:
    """Writes the heads of documents of one repository."""

    def __init__(self, repository: Repository, items: Items) -> None:
        self._repository = repository
        self._items = items
        self._files = FileOrder(repository)
        self._texts = ScopeTexts(repository)
        self._macros = Macros(items)
        self._switches = recent(self._switches_of, FILES)
        self._reserved = recent(self._reserved_in, FILES)
        self._asked = recent(self._asked_at)
        self._attributes = recent(self._attributes_in)

    def write(
        self,
        writer: DocumentWriter,
        pieces: Sequence[Piece],
        room: int,
        needed: AbstractSet[str],
        parts: Iterable[Part] = (),
    ) -> Mapping[int, Sequence[PlacedLine]]:
        """Write as many include directives as there is room for, under their conditions. Return those that come behind
        a piece, by its number.

        Directives that configure an include come before it. Includes are those of each file of which a definition is
        shown, nearest files first. Standard headers that are `needed` and that no such file includes come last, then
        the macros that the text below, `parts` of files, has from a generated header.
        """
        order = sorted({(piece.distance, piece.file) for piece in pieces if self._defines(piece)})
        room = min(room, sum(piece.span.char_end - piece.span.char_start for piece in pieces) // _LEAST_BELOW)
        files = {file for piece in pieces for file in (piece.file, *(each.file for each in piece.fragments))}
        present = {self._repository.files[file].source.path for file in files}
        own = {name: place for name, (place, _) in self._macros.of(pieces).items()}
        included = Included(room, present, needed, own.keys())
        scopes = Scopes(self._texts, writer)
        by_file: dict[int, list[Piece]] = defaultdict(list)
        for piece in pieces:
            by_file[piece.file].append(piece)
        heads = {file: self._repository.directives.head(file) for _, file in order}
        for first in pieces[:1]:
            held = _Held([first])
            included.stand_elsewhere(line for line in heads.get(first.file, ()) if held.has(line.span))
        above: list[PlacedLine] = self._switching(pieces, own.keys())
        behind: dict[int, list[PlacedLine]] = defaultdict(list)
        for distance, file in order:
            under = {name for piece in by_file[file] for name in piece.names}
            held = _Held(by_file[file])
            lines = [line for line in heads[file] if not held.has(line.span)]
            for place, line in _placed(included.chosen(lines, under, is_root_file=distance == 0), own):
                placed = PlacedLine(file, line)
                (above if place < 0 else behind[place]).extend([placed] if placed not in above else [])
        is_empty = not included.missing and not above
        for piece in pieces[1:] if is_empty else pieces:
            self._repeat(writer, scopes, piece, piece.file in heads)
        for file, line in above:
            scopes.move_to(line.conditions, file, "\n")
            writer.synthetic("\n" if writer.size else "")
            writer.slice(file, line.span, CONTEXT_ROLE)
        scopes.close(blank="\n")
        for header in sorted(included.missing):
            writer.synthetic("\n" if writer.size else "")
            writer.synthetic(f"#include <{header}>")
        for number, macro in enumerate(self._generated(parts)):
            writer.synthetic(("\n" if number else "\n\n") if writer.size else "")
            writer.synthetic(generated(macro))
        if writer.size:
            writer.context(0, "preamble", "")
        return behind

    def _generated(self, parts: Iterable[Part]) -> list[str]:
        """Return the macros that `parts` of files name and that no file of the repository defines, sorted."""
        if not self._repository.attribute_macros:
            return []
        return sorted(frozenset[str]().union(*(self._attributes(part.file, part.start, part.end) for part in parts)))

    def _attributes_in(self, file: int, start: int, end: int) -> frozenset[str]:
        words = WORD.findall(self._repository.files[file].source.text, start, end)
        return frozenset(self._repository.attribute_macros).intersection(words)

    def _switching(self, pieces: Sequence[Piece], known: AbstractSet[str]) -> list[PlacedLine]:
        """Return the definitions of macros on which the conditions around `pieces` depend, in the files of roots or in
        what these include. None is in `known`, the macros that pieces define."""
        places = {(piece.file, piece.span.start) for piece in pieces}
        asked = frozenset[str]().union(*(self._asked(*place) for place in places)) - known
        found: dict[str, PlacedLine] = {}
        for file in dict.fromkeys(piece.file for piece in pieces if piece.is_root) if asked else ():
            switches = self._switches(file)
            found |= {name: switches[name] for name in sorted(asked & switches.keys() - found.keys())}
        return list(found.values())

    def _asked_at(self, file: int, start: int) -> AbstractSet[str]:
        """Return the macros on which the conditions around a byte of a file depend."""
        return frozenset[str]().union(*(each.asked() for each in self._repository.directives.around(file, start)))

    def _switches_of(self, file: int) -> Mapping[str, PlacedLine]:
        """Return the macros that a file and what it includes define in front of an include, under no condition."""
        found: dict[str, PlacedLine] = {}
        for other in (file, *sorted(self._files.included(file))):
            for line in self._repository.directives.head(other):
                bracket, macro = line.spelling
                if not bracket and not line.conditions:
                    found.setdefault(macro, PlacedLine(other, line))
        return found

    def _repeat(self, writer: DocumentWriter, scopes: Scopes, piece: Piece, has_head: bool) -> None:
        """Write the reserved names that a root defines, such as `_XOPEN_SOURCE`, above the includes.

        Standard headers read them when the first of them is included, and the root may stand far below.
        """
        lines = self._reserved(piece.file) if has_head and piece.is_root else ()
        reserved = [line for line in lines if _Held([piece]).has(line.span)]
        if reserved:
            writer.reserve(piece.file, piece.span)
        for line in reserved:
            scopes.move_to(line.conditions, piece.file, "\n")
            writer.synthetic("\n" if writer.size else "")
            writer.once(piece.file, line.span, CONTEXT_ROLE)

    def _reserved_in(self, file: int) -> Sequence[HeadLine]:
        """Return the lines of the head of a file that define reserved names."""
        lines = self._repository.directives.head(file)
        return [line for line in lines if not line.spelling[0] and line.spelling[1].startswith("_")]

    def _defines(self, piece: Piece) -> bool:
        """Return whether a piece shows a root, a body or the members of a class."""
        has_members = self._items.head_chars(piece.item) > 0 and (not piece.head or len(piece.members) > 0)
        return piece.is_root or has_members or bool(piece.whole)


class _Held:
    """The places of pieces in one file."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        places = sorted((piece.span.start, piece.span.end) for piece in pieces)
        self._starts = [start for start, _ in places]
        self._ends = list(accumulate((end for _, end in places), max))
        """The last end of each piece and of those before it."""

    def has(self, span: Span) -> bool:
        """Return whether a piece shows all of `span`."""
        place = bisect_right(self._starts, span.start)
        return place > 0 and span.end <= self._ends[place - 1]


def _placed(lines: Iterable[HeadLine], macros: Mapping[str, int]) -> Iterator[tuple[int, HeadLine]]:
    """Yield `lines` of a file, each with the number of the piece that it comes behind, or -1 if behind none.

    `macros` are those that pieces define, by the number of the piece. Other definitions of them are left out.
    """
    places = dict(macros)
    for line in lines:
        named = frozenset[str]().union(*(condition.named() for condition in line.conditions if places))
        place = max((places[name] for name in named & places.keys()), default=-1) if named else -1
        bracket, name = line.spelling
        if not bracket and name in macros:
            continue
        if not bracket:
            places[name] = place
        yield place, line
