"""Writes the pieces of a document: roots whole, context without the bodies and members that are left out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import OPENING, Members
from megacpp_assets.semantic.documents.items.recent import WORDS, recent
from megacpp_assets.semantic.documents.text.document import DocumentWriter, PieceRecorder, Written
from megacpp_assets.semantic.documents.text.order import Piece
from megacpp_assets.semantic.graph.preprocessor.conditions import Condition
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Span

Place = Callable[[int], int]
"""Returns where a document has a character of a file."""


class PieceWriter:
    """Writes pieces of documents of one repository."""

    def __init__(self, repository: Repository, items: Items, members: Members) -> None:
        self._repository = repository
        self._items = items
        self._members = members
        self._written = recent(self._written_of, WORDS)

    def write(self, writer: DocumentWriter, piece: Piece) -> None:
        """Write one piece: its text without the bodies that are left out, and its chunks."""
        if piece.is_ahead:
            begin = writer.size
            writer.synthetic(f"{piece.ahead};")
            writer.context(begin, "class_decl" if piece.kind == "class_decl" else "func_sig", "")
        elif piece.is_root:
            self._write_root(writer, piece)
        else:
            form = piece.item, piece.whole, piece.head, piece.members
            written = None if piece.fragments else self._written(*form)
            if written is None:
                self._write_context(writer, piece)
            else:
                writer.write(written)

    def _written_of(self, item: Item, whole: frozenset[int], head: bool, members: tuple[int, ...]) -> Written | None:
        """Return context as every document shows it; None if it depends on what else a document shows."""
        first = self._repository.nodes[item[0]]
        span = Span(first.chunk.start, first.chunk.end, first.char_start, first.char_end)
        piece = Piece(item, first.file, span, whole, head, members, 1, (), (), None, first.chunk.kind, "")
        recorder = PieceRecorder(self._repository)
        self._write_context(recorder, piece)
        return recorder.written()

    def _write_root(self, writer: DocumentWriter, piece: Piece) -> None:
        """Write a root, or a part of it inside the blocks around the part, with the chunks in it."""
        for number, opening in enumerate(piece.opened):
            writer.slice(piece.file, opening, CONTEXT_ROLE)
            if number == 0 and piece.kind == "class_decl":
                self._write_members(writer, piece, self._members.label_at(piece.item, piece.span.char_start))
            writer.synthetic("\n")
        span = piece.span
        at = self._slice(writer, piece, span, ROOT_ROLE)
        for number in range(*piece.item):
            node = self._repository.nodes[number]
            begin, end = max(node.char_start, span.char_start), min(node.char_end, span.char_end)
            if begin < end:
                writer.chunk(number, at(begin), at(end), node.chunk.kind, uses=True)
        self._stand(writer, piece)
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
            at = self._slice(writer, piece, Span(start, signature.end, char_start, signature.char_end), CONTEXT_ROLE)
            writer.synthetic(";")
            self._chunks(writer, waiting, at, char_start)
            waiting = []
            start, char_start = self._repository.nodes[number].chunk.end, self._repository.nodes[number].char_end
        if waiting:
            at = self._slice(writer, piece, Span(start, last.chunk.end, char_start, last.char_end), CONTEXT_ROLE)
            self._chunks(writer, waiting, at, char_start)
        self._stand(writer, piece)

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

    def _slice(self, writer: DocumentWriter, piece: Piece, span: Span, role: int) -> Place:
        """Append a slice of the file of a piece, with the text that it includes in place of the directives. A root
        keeps the directives, because all of its bytes are shown, and the text is behind them. Return where the document
        has each character of the file.
        """
        starts, shifts = [span.char_start], list[int]()
        begun = span
        for each in piece.fragments:
            if not span.start <= each.line.start < each.line.end <= span.end:
                continue
            is_root = role == ROOT_ROLE
            end, char_end = each.line[1::2] if is_root else each.line[::2]
            before = Span(begun.start, end, begun.char_start, char_end)
            shifts.append(writer.slice(piece.file, before, role) - begun.char_start)
            writer.synthetic("\n" if is_root else "")
            writer.once(each.file, each.span, each.role)
            begun = Span(each.line.end, span.end, each.line.char_end, span.char_end)
            starts.append(begun.char_start)
        shifts.append(writer.slice(piece.file, begun, role) - begun.char_start)
        return lambda char: char + shifts[max(0, bisect_right(starts, char) - 1)]

    def _stand(self, writer: DocumentWriter, piece: Piece) -> None:
        """Record that the last chunk of a piece shows the text that the piece includes."""
        for each in piece.fragments:
            writer.stands([number for number in each.chunks if number not in writer.place])

    def _chunks(self, writer: DocumentWriter, numbers: Sequence[int], at: Place, char_start: int) -> None:
        """Record the places of the chunks in a slice. If the slice ends with a semicolon that is in no file, its last
        chunk is a signature.
        """
        for number in numbers:
            node = self._repository.nodes[number]
            begin, end = at(max(node.char_start, char_start)), at(node.char_end)
            whole = end <= writer.size
            writer.chunk(
                number, begin, end if whole else writer.size, node.chunk.kind if whole else "func_sig", uses=whole
            )
