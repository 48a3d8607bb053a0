"""Lays out the pieces of a document, in an order that a compiler accepts, inside their namespaces.

A piece comes before the pieces that use it. If several orders are possible, the order of the file comes first, then
pieces of the same namespace, then pieces that are far from the roots. Namespaces and conditions are opened with their
own text and closed again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE
from megacpp_assets.semantic.documents.context.growth import Context
from megacpp_assets.semantic.documents.context.passages import passage_of
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import OPENING, Members
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.roots.parts import RootPart
from megacpp_assets.semantic.documents.text.document import DocumentWriter
from megacpp_assets.semantic.documents.text.order import Piece, ordered, reached
from megacpp_assets.semantic.documents.text.scopes import Scope, Scopes, names_of, start_of
from megacpp_assets.semantic.documents.text.statements import statements_of
from megacpp_assets.semantic.graph.preprocessor.conditions import Condition
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository
from megacpp_assets.semantic.graph.spaces import Space, Span
from megacpp_assets.semantic.graph.words.aliases import DIRECTIVE

_NAMING = re.compile(r"typedef\s+(?:struct|union)\s+([A-Za-z_]\w*)[\s*]+[A-Za-z_]\w*\s*;\s*\Z")
"""A typedef that declares the class that it names. It needs no other declaration of it."""

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

    def __init__(self, repository: Repository, items: Items, members: Members) -> None:
        self._repository = repository
        self._items = items
        self._members = members
        self._frames = recent(self._frame_of)
        self._spaces = recent(self._spaces_of)
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
        found = [self._root_piece(root, context) for root in roots]
        for item, whole in context.whole.items():
            members = tuple(sorted(context.members.get(item, ()))) if item in context.heads else None
            chars = self._items.least_chars if members == () else self._items.declared_chars
            if whole or members or chars(item):
                found.append(self._piece(item, frozenset(whole), context.distance[item], members))
        distinct, instead = self._distinct(found)
        needs = self._needs(distinct, instead)
        self._delay_macros(distinct, needs)
        return ordered(distinct, needs, self._whole(distinct))

    def _delay_macros(self, pieces: Sequence[Piece], needs: Sequence[set[int]]) -> None:
        """Let a macro need those pieces of other files that have its name as a word and do not use the macro.

        Such a word is another name there, such as a field in a header that comes before the macro in its file. The
        preprocessor would replace it.
        """
        macros = {
            name: place
            for place, piece in enumerate(pieces)
            for number in range(*piece.item)
            if self._items.is_macro(number)
            for name in self._items.defined(number)
        }
        for place, piece in enumerate(pieces) if macros else ():
            words = frozenset[str]().union(*map(self._items.words, range(*piece.item)))
            for macro in {macros[name] for name in macros.keys() & words} - {place} - needs[place]:
                if pieces[macro].file != piece.file and macro not in reached(needs, place):
                    needs[macro].add(place)

    def _distinct(self, pieces: Sequence[Piece]) -> tuple[list[Piece], dict[Item, set[Item]]]:
        """Return `pieces` without those that repeat others, such as the head of a class next to its forward
        declaration. Return for each of these the items that replace it.
        """
        says = {piece: {(*piece.names, *each) for each in statements_of(self._says(piece))} for piece in pieces}
        declared_by: dict[tuple[str, ...], Item] = {}
        instead: dict[Item, set[Item]] = {}
        for piece in sorted(pieces, key=lambda piece: (not piece.is_root, -len(says[piece]))):
            if not piece.is_root and says[piece] <= declared_by.keys():
                instead[piece.item] = {declared_by[said] for said in says[piece]}
            for said in says[piece]:
                declared_by.setdefault(said, piece.item)
        return [piece for piece in pieces if piece.item not in instead], instead

    def _says(self, piece: Piece) -> str:
        if piece.head and not piece.members:
            return self._items.head_text(piece.item) + ";"
        return self._repository.files[piece.file].source.text[piece.span.char_start : piece.span.char_end]

    def _root_piece(self, root: PlacedRoot, context: Context) -> Piece:
        piece = replace(self._piece(root.unit, frozenset(range(*root.unit)), 0), span=root.span)
        if not isinstance(root, RootPart):
            return piece
        passage = passage_of(root)
        own = self._members.shown_in_part(piece.item, passage.begun, passage.end)
        more = tuple(sorted(context.members.get(piece.item, own) - own))
        return replace(piece, members=more, opened=root.opened, closing=root.closing)

    def _piece(self, item: Item, whole: frozenset[int], distance: int, members: tuple[int, ...] | None = None) -> Piece:
        """Make a piece. `members` are the shown members of a class that is not shown whole; its head is shown too."""
        file, span, scopes, names, holder, kind, ahead = self._frames(item, distance == 0)
        head = members is not None, members or ()
        return Piece(item, file, span, whole, *head, distance, scopes, names, holder, kind, ahead)

    def _frame_of(self, item: Item, is_root: bool) -> _Frame:
        first, last = self._repository.nodes[item[0]], self._repository.nodes[item[1] - 1]
        place = self._repository.root_around(item[0])
        span = place.span if is_root else Span(first.chunk.start, last.chunk.end, first.char_start, last.char_end)
        conditions = self._repository.directives.around(first.file, span.start)
        around: list[Scope] = [*place.spaces, *conditions]
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
        number = {self._items.of[chunk]: place for place, piece in enumerate(pieces) for chunk in range(*piece.item)}
        prototypes: dict[tuple[int, str], set[int]] = defaultdict(set)
        for place, piece in enumerate(pieces):
            for chunk in (self._repository.nodes[each].chunk for each in range(*piece.item)):
                if chunk.kind == "func_sig":
                    prototypes[piece.file, chunk.name].add(place)
        needs: list[set[int]] = []
        declared: dict[int, set[int]] = {}
        for place, piece in enumerate(pieces):
            used = {self._items.of[target] for target in self._uses(piece)}
            used |= {piece.holder} if piece.holder is not None else set()
            used = {item for one in used for item in instead.get(one, {one})}
            found = {number[item] for item in used if item in number}
            if piece.kind == "func_body":
                # The prototype may say more, as `static` does, which no later declaration may add.
                found |= prototypes[piece.file, self._repository.nodes[piece.item[0]].chunk.name]
            declared[place] = {each for each in found if self._declares(piece, pieces[each])}
            found -= declared[place]
            needs.append({each for each in found if each != place and pieces[each].holder != piece.item})
        for place, piece in enumerate(pieces):
            if (
                piece.is_root
                or piece.whole
                or piece.kind == "other"
                or (piece.kind == "class_decl" and (piece.members or not piece.head))
            ):
                # What looks into a class through its typedef needs the class too.
                needs[place] |= set[int]().union(*(declared[each] for each in needs[place])) - {place}
        return needs

    def _declares(self, piece: Piece, other: Piece) -> bool:
        """Return whether a typedef declares the class that `other` defines, as `typedef struct box box;` does."""
        if piece.kind != "typedef" or other.kind != "class_decl" or piece.names != other.names:
            return False
        aside = self._items.aside_chars(piece.item[0])
        named = _NAMING.match(self._items.text(piece.item), aside)
        return named is not None and self._repository.nodes[other.item[0]].chunk.name.rpartition("::")[2] == named[1]

    def _whole(self, pieces: Sequence[Piece]) -> list[set[int]]:
        """Return for each piece the numbers of the classes that it needs complete."""
        number = {piece.item: place for place, piece in enumerate(pieces)}
        return [
            {number[item] for item in self._completes(piece) if item in number} - {number[piece.item]}
            for piece in pieces
        ]

    def _completes(self, piece: Piece) -> Collection[Item]:
        if not self._items.head_chars(piece.item):
            # A typedef never looks into the class that it names: the class may need the typedef's name first.
            looks_into = piece.kind != "typedef" and (piece.is_root or piece.whole or piece.kind == "other")
            used = set(map(self._declared_by, self._uses(piece))) if looks_into else set()
            return used if piece.holder is None else used | {piece.holder}
        if piece.head and not piece.members:
            return ()
        return self._members.completes(piece.item, piece.members if piece.head else None)

    def _declared_by(self, target: int) -> Item:
        """Return the item that must come before a use of chunk `target`: for a member, its class."""
        item = self._items.of[target]
        holder = self._items.holder(item)
        return item if holder is None else holder

    def _uses(self, piece: Piece) -> Iterator[int]:
        if piece.head:
            yield from self._items.named(piece.item[0])
            for member in (OPENING, *piece.members) if piece.members else ():
                yield from self._members.needs(piece.item, member)
            return
        shown = set(self._items.shown(piece.item, piece.whole))
        for number in range(*piece.item):
            yield from self._items.used(number) if number in shown else self._items.named(number)

    def write(self, writer: DocumentWriter, pieces: Sequence[Piece]) -> None:
        """Write `pieces` in the order given."""
        scopes = Scopes(self._repository, writer)
        for piece in pieces:
            scopes.expect(piece.scopes, piece.file, piece.span, whole=piece.is_root)
        last: Piece | None = None
        for piece in pieces:
            for file, spaces in () if piece.is_ahead else self._spaces(piece.item):
                if not scopes.was_open(spaces[-1].name):
                    scopes.move_to(spaces, file)
            scopes.move_to(piece.scopes, piece.file)
            if writer.size:
                writer.synthetic("\n" if last is not None and self._adjoin(last, piece) else "\n\n")
            written = len(writer.parts)
            self._write(writer, piece)
            scopes.leave_closed(piece.scopes, piece.file, writer.parts[written:])
            last = piece
        scopes.close()

    def _spaces_of(self, item: Item) -> Sequence[tuple[int, tuple[Space, ...]]]:
        """Return a place of each namespace that the using-directives of an item name."""
        names = DIRECTIVE.findall(self._items.text(item).encode())
        found = (self._space_of.get(name.decode().removeprefix("::")) for name in names)
        return [each for each in found if each is not None]

    def _adjoin(self, first: Piece, second: Piece) -> bool:
        """Return whether `second` is on the line after `first` in their file."""
        gap = self._repository.files[first.file].source.text[first.span.char_end : second.span.char_start]
        return first.file == second.file and gap.strip() == "" and gap.count("\n") == 1

    def _write(self, writer: DocumentWriter, piece: Piece) -> None:
        """Write one piece: its text without the bodies that are left out, and its chunks."""
        if piece.is_ahead:
            begin = writer.size
            writer.synthetic(f"{piece.ahead};")
            writer.context(begin, "class_decl" if piece.kind == "class_decl" else "func_sig", "")
        elif piece.is_root:
            self._write_root(writer, piece)
        else:
            self._write_context(writer, piece)

    def _write_root(self, writer: DocumentWriter, piece: Piece) -> None:
        """Write a root, or a part of it inside the blocks around the part, with the chunks in it."""
        for number, opening in enumerate(piece.opened):
            writer.slice(piece.file, opening, CONTEXT_ROLE)
            if number == 0 and piece.kind == "class_decl":
                self._write_members(writer, piece, self._members.label_at(piece.item, piece.span.char_start))
            writer.synthetic("\n")
        span = piece.span
        shift = writer.slice(piece.file, span, ROOT_ROLE) - span.char_start
        for number in range(*piece.item):
            node = self._repository.nodes[number]
            begin, end = max(node.char_start, span.char_start), min(node.char_end, span.char_end)
            if begin < end:
                writer.chunk(number, shift + begin, shift + end, node.chunk.kind, uses=True)
        if piece.members and not piece.opened:
            inner, outer = piece.closing[:-2], piece.closing[-2:]
            writer.synthetic(inner)
            self._write_members(writer, piece)
            writer.synthetic(f"\n{outer}")
        else:
            writer.synthetic(piece.closing)

    def _write_context(self, writer: DocumentWriter, piece: Piece) -> None:
        first, last = (self._repository.nodes[number] for number in (piece.item[0], piece.item[1] - 1))
        if piece.members:
            self._write_excerpt(writer, piece)
            return
        if piece.head and first.signature is not None:
            begin = writer.slice(piece.file, first.signature, CONTEXT_ROLE)
            self._write_behind(writer, piece)
            writer.chunk(piece.item[0], begin, writer.size, first.chunk.kind, uses=False)
            return
        start, char_start = self._begin(piece)
        waiting: list[int] = []
        bodies = set(self._items.bodies(piece.item))
        for number in range(*piece.item):
            signature = self._repository.nodes[number].signature
            waiting.append(number)
            if signature is None or number in piece.whole or number not in bodies:
                continue
            if number == piece.item[0]:
                start, char_start = signature.start, signature.char_start
            shift = (
                writer.slice(piece.file, Span(start, signature.end, char_start, signature.char_end), CONTEXT_ROLE)
                - char_start
            )
            writer.synthetic(";")
            self._chunks(writer, waiting, shift, char_start)
            waiting = []
            start, char_start = self._repository.nodes[number].chunk.end, self._repository.nodes[number].char_end
        if waiting:
            shift = (
                writer.slice(piece.file, Span(start, last.chunk.end, char_start, last.char_end), CONTEXT_ROLE)
                - char_start
            )
            self._chunks(writer, waiting, shift, char_start)

    def _write_excerpt(self, writer: DocumentWriter, piece: Piece) -> None:
        """Write a class with some of its members."""
        excerpt = self._members.shown_of(piece.item)
        if excerpt is None:
            return
        begin = writer.slice(piece.file, excerpt.opening, CONTEXT_ROLE)
        self._write_members(writer, piece)
        writer.synthetic("\n}")
        self._write_behind(writer, piece)
        writer.chunk(piece.item[0], begin, writer.size, piece.kind, uses=False)
        writer.stands(self._members.chunks(piece.item, piece.members))

    def _write_members(self, writer: DocumentWriter, piece: Piece, last: str = "") -> None:
        """Write the members of a class, each on a line of its own below its access label and inside its conditions.

        What stands behind them has the access label `last`.
        """
        excerpt = self._members.shown_of(piece.item)
        if excerpt is None:
            return
        label, under = "", tuple[Condition, ...]()
        for member in (excerpt.members[number] for number in piece.members if number != OPENING):
            around = self._members.conditions(piece.item, member.span)
            if around != under:
                self._leave(writer, piece.file, under)
                for line in (line for each in around for line in each.lines):
                    writer.synthetic("\n")
                    writer.once(piece.file, line, CONTEXT_ROLE)
                under = around
            if member.label != label:
                label = member.label
                writer.synthetic(f"\n {label}:")
            writer.synthetic("\n  ")
            for span in member.kept:
                writer.slice(piece.file, span, CONTEXT_ROLE)
            if member.closing:
                writer.synthetic(member.closing)
            under = tuple(each for each in around if each.closing.start >= member.span.end)
        self._leave(writer, piece.file, under)
        if last and last != label:
            writer.synthetic(f"\n {last}:")

    def _leave(self, writer: DocumentWriter, file: int, conditions: Sequence[Condition]) -> None:
        """Close conditions inside a class, inner ones first."""
        for each in reversed(conditions):
            writer.synthetic("\n")
            writer.once(file, each.closing, CONTEXT_ROLE)

    def _write_behind(self, writer: DocumentWriter, piece: Piece) -> None:
        """End a class or a declaration, with the names that a typedef gives it."""
        if (behind := self._items.names_behind(piece.item)) is not None:
            writer.synthetic(" ")
            writer.slice(piece.file, behind, CONTEXT_ROLE)
        writer.synthetic(";")

    def _begin(self, piece: Piece) -> tuple[int, int]:
        """Return the byte and the character where context begins: for a function that is shown whole, at its comment;
        for all else after the comment.
        """
        node = self._repository.nodes[piece.item[0]]
        aside = 0 if piece.item[0] in piece.whole else self._items.aside_chars(piece.item[0])
        text = self._repository.files[node.file].source.text[node.char_start : node.char_start + aside]
        return node.chunk.start + len(text.encode()), node.char_start + aside

    def _chunks(self, writer: DocumentWriter, numbers: Sequence[int], shift: int, char_start: int) -> None:
        """Record the places of the chunks in a slice, whose characters are `shift` from those of its file. If the slice
        ends with a semicolon that is in no file, its last chunk is a signature.
        """
        for number in numbers:
            node = self._repository.nodes[number]
            begin, end = shift + max(node.char_start, char_start), shift + node.char_end
            whole = end <= writer.size
            writer.chunk(
                number, begin, end if whole else writer.size, node.chunk.kind if whole else "func_sig", uses=whole
            )
