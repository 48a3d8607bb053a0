"""Namespaces and conditions of the preprocessor around the text of a document: they are opened and closed in order.

An opening is the file's own text. Arms of one conditional share its `#if` where the document keeps their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from operator import is_

from megacpp_assets.contract.names import CONTEXT_ROLE
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.text.document import DocumentWriter
from megacpp_assets.semantic.graph.preprocessor.conditions import Condition
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Space, Span
from megacpp_assets.semantic.labels.char_store import Part

Scope = Space | Condition
_Placed = tuple[Scope, int]
"""A scope of a file."""
_CHANGES = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", re.M)
_WORD = re.compile(r"[A-Za-z_]\w*")


def start_of(scope: Scope) -> int:
    """Return the byte where a scope begins in its file."""
    return scope.start if isinstance(scope, Condition) else scope.opening.start


def names_of(scopes: Sequence[Scope]) -> tuple[str, ...]:
    """Return the names of namespaces and the texts of conditions: equal for places in the same scopes, in any file."""
    return tuple(" ".join(each.says) if isinstance(each, Condition) else each.name for each in scopes)


class ScopeTexts:
    """What scopes and slices of one repository say, which is the same in all documents."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._openings = recent(self._opening_of)
        self.changes = recent(self._changes_in)
        """The macros that the characters [start, end) of a file define or undefine."""

    def key(self, scope: Scope, file: int) -> tuple[str | None, ...]:
        """Return what is equal for two scopes, perhaps of different files, that are one: names and opening texts."""
        if isinstance(scope, Condition):
            return scope.says
        return None, scope.name, self._openings(file, scope.opening.char_start, scope.opening.char_end)

    def _opening_of(self, file: int, start: int, end: int) -> str:
        return " ".join(self._repository.files[file].source.text[start:end].split())

    def _changes_in(self, file: int, start: int, end: int) -> AbstractSet[str]:
        text = self._repository.files[file].source.text[start:end]
        return frozenset(_CHANGES.findall(text)) if "#" in text else frozenset()


class Scopes:
    """The scopes that are open at the end of a document while it is written."""

    def __init__(self, texts: ScopeTexts, writer: DocumentWriter) -> None:
        self._texts = texts
        self._writer = writer
        self._open: list[tuple[Scope, int]] = []
        self._changed: list[bool] = []
        """Whether a macro that an open condition names was defined or undefined since."""
        self._conditions = 0
        """The number of open conditions."""
        self._opened: set[str] = set()
        self._reached: tuple[Sequence[Scope], int] | None = None
        """The scopes, of a file, which are open now as the last move left them."""

    def move_to(self, scopes: Sequence[Scope], file: int, blank: str = "\n\n") -> None:
        """Close the open scopes that are not among `scopes` of `file`, then write `blank` and open the missing ones."""
        if self._reached is not None and self._reached[1] == file and _are_same(self._reached[0], scopes):
            return
        self._move([(scope, file) for scope in scopes], blank)
        self._reached = scopes, file

    def move_to_conditions(self, scopes: Sequence[Scope], file: int, blank: str = "\n\n") -> Sequence[Scope]:
        """Do the same for the conditions among `scopes`. Namespaces that are open stay open where they can: a
        definition of a macro means the same inside and outside of them.

        Return what is open then, each condition as that of `file`.
        """
        wanted = [(scope, file) for scope in scopes if isinstance(scope, Condition)]
        places: list[_Placed] = []
        for number, (present, own) in enumerate(self._open):
            if isinstance(present, Space):
                places.append((present, own))
            elif wanted and (self._is_open(number, wanted[0]) or self._turns(number, wanted[0])):
                places.append(wanted.pop(0))
            else:
                break
        places += wanted
        self._move(places, blank)
        self._reached = None
        return [scope for scope, _ in places]

    def _move(self, places: Sequence[_Placed], blank: str) -> None:
        """Close the open scopes that are not among `places`, then write `blank` and open the missing ones."""
        pairs = enumerate(places[: len(self._open)])
        shared = next((number for number, place in pairs if not self._is_open(number, place)), None)
        if shared is None:
            shared, turned = min(len(places), len(self._open)), False
        else:
            turned = self._turns(shared, places[shared])
        self.close(shared + turned, blank)
        if turned:
            self._turn(*places[shared], blank)
        self._enter(places[shared + turned :], blank)

    def expect(self, scopes: Sequence[Scope], file: int, span: Span, *, whole: bool) -> None:
        """Let no line of a scope be a slice of its file if the text at `span`, which comes later, shows it too.

        `scopes` are those around the text; `whole` means that all of it is shown.
        """
        if whole:
            self._writer.reserve(file, span)
        for each in scopes:
            if isinstance(each, Condition) and each.closing.start < span.end:
                self._writer.reserve(file, each.closing)

    def leave_closed(self, scopes: Sequence[Scope], file: int, parts: Sequence[Part]) -> None:
        """Leave those of the `scopes` of `file`, which are open, whose `#endif` is in the `parts` that were written.

        Another conditional with the text of one that stays open is another condition from now on if the `parts` define
        or undefine a macro that it names.
        """
        changed = self._changes(parts) if self._conditions else frozenset[str]()
        for number, (scope, _) in enumerate(self._open) if changed else ():
            if isinstance(scope, Condition) and not changed.isdisjoint(_WORD.findall(" ".join(scope.says))):
                self._changed[number], self._reached = True, None
        while self._open and len(self._open) <= len(scopes):
            scope = scopes[len(self._open) - 1]
            if isinstance(scope, Space) or not any(_shows(part, file, scope.closing) for part in parts):
                return
            self._pop()

    def _changes(self, parts: Sequence[Part]) -> AbstractSet[str]:
        """Return the macros that `parts` define or undefine."""
        return frozenset[str]().union(*(self._texts.changes(part.file, part.start, part.end) for part in parts))

    def was_open(self, name: str) -> bool:
        """Return whether the namespace of that name was opened before."""
        return name in self._opened

    def close(self, kept: int = 0, blank: str = "\n\n") -> None:
        """Close all scopes but the `kept` outermost."""
        if len(self._open) > kept and isinstance(self._open[-1][0], Space):
            self._writer.synthetic(blank[1:])
        while len(self._open) > kept:
            scope, file = self._pop()
            if isinstance(scope, Condition):
                self._writer.synthetic("\n")
                self._writer.once(file, scope.closing, CONTEXT_ROLE)
                continue
            name = scope.name.rpartition("::")[2]
            comment = f"  // namespace {name}" if scope.closing == "}" and name else ""
            self._writer.synthetic(f"\n{scope.closing}{comment}")

    def _is_open(self, number: int, place: _Placed) -> bool:
        """Return whether an open scope, by number, is that at `place`, perhaps of another file: they have equal names
        and are opened by equal text.
        """
        (present, own), (scope, file) = self._open[number], place
        if scope is present and own == file:
            return True
        return self._texts.key(present, own) == self._texts.key(scope, file) and self._holds(number, place)

    def _holds(self, number: int, place: _Placed) -> bool:
        """Return whether an open scope may be that of other text with the same condition: it is the same conditional,
        or no macro that it names has changed.
        """
        (present, own), (scope, file) = self._open[number], place
        return not self._changed[number] or (own == file and start_of(present) == start_of(scope))

    def _turns(self, number: int, place: _Placed) -> bool:
        """Return whether the scope at `place` is a later arm of the conditional that is open, by number."""
        present, wanted = self._open[number][0], place[0]
        both = isinstance(present, Condition) and isinstance(wanted, Condition) and self._holds(number, place)
        return both and wanted.says[: len(present.says)] == present.says  # type: ignore[union-attr]

    def _turn(self, scope: Scope, file: int, blank: str) -> None:
        present, _ = self._open[-1]
        if isinstance(present, Condition) and isinstance(scope, Condition):
            for line in scope.lines[len(present.lines) :]:
                self._writer.synthetic(blank)
                self._writer.once(file, line, CONTEXT_ROLE)
            self._open[-1] = scope, file

    def _pop(self) -> tuple[Scope, int]:
        self._changed.pop()
        self._reached = None
        last = self._open.pop()
        self._conditions -= isinstance(last[0], Condition)
        return last

    def _enter(self, fresh: Sequence[_Placed], blank: str) -> None:
        if fresh and self._writer.has_text:
            self._writer.synthetic(blank)
        begin = self._writer.size
        for number, (scope, file) in enumerate(fresh):
            if number:
                self._writer.synthetic("\n")
            for place, line in enumerate(scope.lines if isinstance(scope, Condition) else (scope.opening,)):
                if place:
                    self._writer.synthetic("\n")
                self._writer.once(file, line, CONTEXT_ROLE)
            self._open.append((scope, file))
            self._conditions += isinstance(scope, Condition)
            self._changed.append(False)
            self._opened.add(scope.name if isinstance(scope, Space) else "")
        spaces = [scope.name for scope, _ in fresh if isinstance(scope, Space)]
        if spaces:
            self._writer.context(begin, "namespace", spaces[-1])


def _are_same(first: Sequence[Scope], second: Sequence[Scope]) -> bool:
    return len(first) == len(second) and all(map(is_, first, second))


def _shows(part: Part, file: int, span: Span) -> bool:
    return part.file == file and part.start <= span.char_start < part.end
