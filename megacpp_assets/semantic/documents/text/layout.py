"""Lays out the pieces of a document, in an order that a compiler accepts, inside their namespaces.

A piece comes before the pieces that use it. If several orders are possible, the order of the file comes first, then
pieces of the same namespace, then pieces that are far from the roots. Namespaces and conditions are opened with their
own text and closed again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE
from megacpp_assets.semantic.documents.context.growth import Context
from megacpp_assets.semantic.documents.context.passages import passage_of
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import Members
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.items.stand_ins import StandIns
from megacpp_assets.semantic.documents.roots.parts import RootPart
from megacpp_assets.semantic.documents.text.document import DocumentWriter
from megacpp_assets.semantic.documents.text.fragments import Fragment, FragmentSites
from megacpp_assets.semantic.documents.text.heads import PlacedLine
from megacpp_assets.semantic.documents.text.macro_order import MacroOrder
from megacpp_assets.semantic.documents.text.order import FileOrder, Piece, ordered
from megacpp_assets.semantic.documents.text.piece_facts import PieceFacts
from megacpp_assets.semantic.documents.text.piece_writer import PieceWriter
from megacpp_assets.semantic.documents.text.scopes import Scope, Scopes, ScopeTexts, names_of, start_of
from megacpp_assets.semantic.graph.analysis.analysis import is_c
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository
from megacpp_assets.semantic.graph.spaces import Space, Span, is_linkage
from megacpp_assets.semantic.graph.words.aliases import DIRECTIVE

_TYPES = ("typedef", "class_decl")
_NOTHING: Mapping[int, Sequence[PlacedLine]] = {}

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include", re.M)
_LINE_END = re.compile(r"[^\S\n]*\n[^\S\n]*")
_NAMED = re.compile(r"\bnamespace\s+([A-Za-z_]\w*)\s*\{\s*\Z")


class _Frame(NamedTuple):
    """What is the same of a piece in all documents; see `Piece`."""

    file: int
    span: Span
    scopes: tuple[Scope, ...]
    names: tuple[str, ...]
    holder: Item | None
    kind: str
    ahead: str


class Layout:
    """How documents of one repository are laid out."""

    def __init__(self, repository: Repository, items: Items, members: Members, stand_ins: StandIns) -> None:
        self._repository = repository
        self._items = items
        self._members = members
        self._fragments = FragmentSites(repository)
        self._macros = MacroOrder(repository, items)
        self._writer = PieceWriter(repository, items, members)
        self._frames = recent(self._frame_of)
        self._files = FileOrder(repository)
        self._texts = ScopeTexts(repository)
        self._facts = PieceFacts(repository, items, members, stand_ins)
        self._spaces = recent(self._spaces_of)
        self._opening = recent(self._opening_of)
        self._is_macro = recent(lambda item: all(map(items.is_macro, range(*item))))
        """Whether an item defines macros and nothing else."""
        self._space_of: dict[str, tuple[int, tuple[Space, ...]]] = {}
        for place in repository.roots:
            for number, space in enumerate(place.spaces, 1):
                for name in filter(None, (space.name, self._macro_of(place.file, space))):
                    self._space_of.setdefault(name, (place.file, place.spaces[:number]))

    def _macro_of(self, file: int, space: Space) -> str:
        """Return the macro by which the head of a namespace names it, or ""."""
        head = self._repository.files[file].source.text[space.opening.char_start : space.opening.char_end]
        named = _NAMED.search(head)
        return named[1] if named and not space.name.endswith(named[1]) else ""

    def pieces(self, roots: Collection[PlacedRoot], context: Context) -> list[Piece]:
        """Return the pieces of a document, in their order."""
        in_c = is_c(self._repository.files[next(iter(roots)).file])
        found = [self._root_piece(root, context, in_c=in_c) for root in roots]
        for item, whole in context.whole.items():
            members = tuple(sorted(context.members.get(item, ()))) if item in context.heads else None
            chars = self._items.least_chars if members == () else self._items.declared_chars
            if whole or members or chars(item):
                found.append(self._piece(item, frozenset(whole), context.distance[item], members, in_c=in_c))
        distinct, instead = self._distinct(self._with_fragments(found))
        needs = self._needs(distinct, instead)
        self._macros.arrange(distinct, needs, [self._opening(piece.item) for piece in distinct])
        return ordered(distinct, needs, self._whole(distinct), self._files.is_above)

    def _with_fragments(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return `pieces`; the text of a file that one of them includes within its braces is a part of that piece.

        It is if all of that file is shown, as context or as roots: a body that is left out, as one that is held out,
        may not come back with the file. Of several pieces that include it, each has it.
        """
        if not any(self._fragments.within(piece.item) for piece in pieces):
            return list(pieces)
        entire = [piece for piece in pieces if self._is_entire(piece)]
        roles = {piece.item: ROOT_ROLE if piece.is_root else CONTEXT_ROLE for piece in entire}
        inside: dict[Piece, list[Fragment]] = {}
        for piece in entire:
            for each in self._fragments.within(piece.item):
                shown = {roles.get(item) for item in self._shown_of(each, roles)}
                if (role := shown.pop()) is not None and not shown:
                    inside.setdefault(piece, []).append(each._replace(role=role))
        taken = {item for found in inside.values() for each in found for item in self._shown_of(each, roles)}
        kept = (piece for piece in pieces if piece.item not in taken)
        return [replace(piece, fragments=tuple(inside[piece])) if piece in inside else piece for piece in kept]

    def _is_entire(self, piece: Piece) -> bool:
        """Return whether a piece shows all of its item."""
        is_cut = piece.head or bool(piece.opened)
        return not is_cut and (piece.is_root or piece.whole.issuperset(self._items.bodies(piece.item)))

    def _shown_of(self, fragment: Fragment, pieces: Collection[Item]) -> set[Item]:
        """Return what the chunks of a file that is included are shown as: roots, or items."""
        units = ((self._repository.root_around(number).unit, self._items.of[number]) for number in fragment.chunks)
        return {root if root in pieces else item for root, item in units}

    def _distinct(self, pieces: Sequence[Piece]) -> tuple[list[Piece], dict[Item, set[Item]]]:
        """Return `pieces` without those that repeat others, such as the head of a class next to its forward
        declaration. Return for each of these the items that replace it.
        """
        says = {piece.item: self._facts.said(piece) for piece in pieces}
        declared_by: dict[str, Item] = {}
        instead: dict[Item, set[Item]] = {}
        for piece in sorted(pieces, key=lambda piece: (not piece.is_root, -len(says[piece.item]))):
            own = says[piece.item]
            if not piece.is_root and own <= declared_by.keys():
                instead[piece.item] = {declared_by[said] for said in own}
            for said in own:
                declared_by.setdefault(said, piece.item)
        for piece, defined in self._defined_twice([piece for piece in pieces if piece.item not in instead]):
            instead[piece.item] = {defined.item}
        return [piece for piece in pieces if piece.item not in instead], instead

    def _defined_twice(self, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Piece]]:
        """Yield the classes that others of `pieces` define too, as a generated source and its header do, each with the
        one that is shown: a root, or the longest. Several roots stay.
        """
        found: dict[tuple[str, ...], list[Piece]] = defaultdict(list)
        for piece in pieces:
            for name in self._facts.defined(piece):
                found[name].append(piece)
        for same in found.values():
            first, *others = sorted(same, key=lambda each: (not each.is_root, each.span.start - each.span.end))
            yield from ((each, first) for each in others if not each.is_root and each is not first)

    def _root_piece(self, root: PlacedRoot, context: Context, *, in_c: bool) -> Piece:
        piece = replace(self._piece(root.unit, frozenset(range(*root.unit)), 0, in_c=in_c), span=root.span)
        if not isinstance(root, RootPart):
            return piece
        passage = passage_of(root)
        own = self._members.shown_in_part(piece.item, passage.begun, passage.end)
        more = tuple(sorted(context.members.get(piece.item, own) - own))
        return replace(piece, members=more, opened=root.opened, closing=root.closing)

    def _piece(
        self, item: Item, whole: frozenset[int], distance: int, members: tuple[int, ...] | None = None, *, in_c: bool
    ) -> Piece:
        """Make a piece. `members` are the shown members of a class that is not shown whole; its head is shown too."""
        file, span, scopes, names, holder, kind, ahead = self._frames(item, distance == 0, in_c)
        head = members is not None, members or ()
        return Piece(item, file, span, whole, *head, distance, scopes, names, holder, kind, ahead)

    def _frame_of(self, item: Item, is_root: bool, in_c: bool) -> _Frame:
        """Return the frame of an item. A document in C does not open `extern "C" {` around text of a C++ parse."""
        first, last = self._repository.nodes[item[0]], self._repository.nodes[item[1] - 1]
        place = self._repository.root_around(item[0])
        span = place.span if is_root else Span(first.chunk.start, last.chunk.end, first.char_start, last.char_end)
        conditions = self._repository.directives.around(first.file, span.start)
        code = self._repository.files[first.file].source.text if in_c else ""
        spaces = [space for space in place.spaces if not in_c or not is_linkage(space, code)]
        around: list[Scope] = [*spaces, *conditions]
        scopes = tuple(sorted(around, key=start_of))
        holder = self._items.holder(item)
        kind, text = first.chunk.kind, self._items.head_text(item)
        is_named_behind = kind == "class_decl" and not self._items.head_chars(item)
        ahead = "" if holder is not None or "=" in text or is_named_behind else text
        return _Frame(first.file, span, scopes, names_of(scopes), holder, kind, ahead)

    def _needs(self, pieces: Sequence[Piece], instead: Mapping[Item, set[Item]]) -> list[set[int]]:
        """Return for each piece the numbers of the pieces that its shown text uses, or of those that replace them. A
        class needs none of its own members that are defined outside of it.
        """
        number = {item: place for place, piece in enumerate(pieces) for item in self._facts.items(piece.item)}
        prototypes: dict[tuple[int, str], set[int]] = defaultdict(set)
        for place, piece in enumerate(pieces):
            for name in self._facts.prototypes(piece.item):
                prototypes[piece.file, name].add(place)
        needs: list[set[int]] = []
        declared: dict[int, set[int]] = {}
        for place, piece in enumerate(pieces):
            found = {number[item] for item in self._used(piece, instead, number.keys()) if item in number}
            if piece.kind == "func_body" and prototypes:
                # The prototype may say more, as `static` does, which no later declaration may add.
                found |= prototypes.get((piece.file, self._repository.nodes[piece.item[0]].chunk.name), set())
            if own := self._declared(piece, found, pieces):
                declared[place] = own
            found = found - own - {place}
            needs.append({each for each in found if pieces[each].holder != piece.item})
        for place, piece in enumerate(pieces) if declared else ():
            if (
                piece.is_root
                or piece.whole
                or piece.kind == "other"
                or (piece.kind == "class_decl" and (piece.members or not piece.head))
            ):
                # What looks into a class through its typedef needs the class too.
                needs[place] |= set[int]().union(*(declared.get(each, ()) for each in needs[place])) - {place}
        return needs

    def _used(self, piece: Piece, instead: Mapping[Item, set[Item]], shown: AbstractSet[Item]) -> AbstractSet[Item]:
        """Return the items that a piece uses, or those that are shown `instead`. What is not `shown` may be declared by
        another item.
        """
        used, stand_ins = self._facts.used(piece), self._facts.stand_ins(piece)
        if not instead.keys().isdisjoint(used):
            used = {item for one in used for item in instead.get(one, {one})}
            stand_ins = [(item, self._facts.stand_in(item)) for item in used]
        return used | {other for item, other in stand_ins if item not in shown} if stand_ins else used

    def _declared(self, piece: Piece, found: AbstractSet[int], pieces: Sequence[Piece]) -> set[int]:
        """Return those `found` that define the class which a typedef declares, as `typedef struct box box;` does."""
        name = self._facts.named_class(piece.item) if found and piece.kind in _TYPES else ""
        others = ((each, pieces[each]) for each in found) if name else ()
        return {
            each
            for each, other in others
            if other.kind == "class_decl"
            and piece.names == other.names
            and self._repository.nodes[other.item[0]].chunk.name.rpartition("::")[2] == name
        }

    def _whole(self, pieces: Sequence[Piece]) -> list[set[int]]:
        """Return for each piece the numbers of the classes that it needs complete."""
        number = {piece.item: place for place, piece in enumerate(pieces)}
        return [
            {number[item] for item in self._facts.completed(piece) if item in number} - {number[piece.item]}
            for piece in pieces
        ]

    def write(
        self, writer: DocumentWriter, pieces: Sequence[Piece], behind: Mapping[int, Sequence[PlacedLine]] = _NOTHING
    ) -> None:
        """Write `pieces` in the order given, and the directives that come `behind` some of them, by number."""
        scopes = Scopes(self._texts, writer)
        for piece in pieces:
            scopes.expect(piece.scopes, piece.file, piece.span, whole=piece.is_root)
        last: Piece | None = None
        for number, piece in enumerate(pieces):
            for file, spaces in () if piece.is_ahead else self._spaces(piece.item):
                if not scopes.was_open(spaces[-1].name):
                    scopes.move_to(spaces, file)
            inside = self._open_for(piece, scopes)
            if writer.has_text:
                writer.synthetic("\n" if last is not None and self._adjoin(last, piece) else "\n\n")
            written = len(writer.parts)
            self._writer.write(writer, piece)
            scopes.leave_closed(inside, piece.file, writer.parts[written:])
            last = piece
            for each in behind.get(number, ()):
                _write_line(scopes, writer, each)
                last = None
        scopes.close()

    def _open_for(self, piece: Piece, scopes: Scopes) -> Sequence[Scope]:
        """Open the scopes of a piece and return them: for a definition of macros its conditions, and no namespace.

        A root of macros may have an include between them, which belongs where it stands in its file.
        """
        if self._is_macro(piece.item) and not self._includes(piece.file, piece.span):
            return scopes.move_to_conditions(piece.scopes, piece.file)
        scopes.move_to(piece.scopes, piece.file)
        return piece.scopes

    def _includes(self, file: int, span: Span) -> bool:
        text = self._repository.files[file].source.text
        return _INCLUDE.search(text, span.char_start, span.char_end) is not None

    def _spaces_of(self, item: Item) -> Sequence[tuple[int, tuple[Space, ...]]]:
        """Return a place of each namespace that the using-directives of an item name."""
        names = [name.decode().removeprefix("::") for name in DIRECTIVE.findall(self._items.text(item).encode())]
        # A name may be that of a namespace inside of one around the directive, innermost first.
        around = [f"{space.name}::" for space in self._repository.root_around(item[0]).spaces[::-1]] if names else []
        found = ((self._space_of.get(f"{space}{name}") for space in (*around, "")) for name in names)
        return [place for places in found if (place := next(filter(None, places), None)) is not None]

    def _opening_of(self, item: Item) -> frozenset[str]:
        """Return the macros that open the namespaces which the using-directives of an item name."""
        spaces = (space for _, found in self._spaces(item) for space in found)
        return frozenset[str]().union(*(space.macros for space in spaces))

    def _adjoin(self, first: Piece, second: Piece) -> bool:
        """Return whether `second` is on the line after `first` in their file."""
        if first.file != second.file:
            return False
        text = self._repository.files[first.file].source.text
        return _LINE_END.fullmatch(text, first.span.char_end, second.span.char_start) is not None


def _write_line(scopes: Scopes, writer: DocumentWriter, placed: PlacedLine) -> None:
    """Write a directive under its conditions."""
    file, line = placed
    scopes.move_to(line.conditions, file)
    begin, written = writer.size, len(writer.parts)
    writer.synthetic("\n")
    writer.slice(file, line.span, CONTEXT_ROLE)
    writer.context(begin, "preamble", "")
    scopes.leave_closed(line.conditions, file, writer.parts[written:])
