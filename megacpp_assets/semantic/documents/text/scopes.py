"""Namespaces and conditions of the preprocessor around the text of a document: they are opened and closed in order.

An opening is the file's own text. Arms of one conditional share its `#if` where the document keeps their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import takewhile

from megacpp_assets.contract.names import CONTEXT_ROLE
from megacpp_assets.semantic.documents.text.document import DocumentWriter
from megacpp_assets.semantic.graph.preprocessor.conditions import Condition
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.spaces import Space, Span
from megacpp_assets.semantic.labels.char_store import Part

Scope = Space | Condition
_CHANGES = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", re.M)
_WORD = re.compile(r"[A-Za-z_]\w*")


def start_of(scope: Scope) -> int:
    """Return the byte where a scope begins in its file."""
    return scope.start if isinstance(scope, Condition) else scope.opening.start


def names_of(scopes: Sequence[Scope]) -> tuple[str, ...]:
    """Return the names of namespaces and the texts of conditions: equal for places in the same scopes, in any file."""
    return tuple(" ".join(each.says) if isinstance(each, Condition) else each.name for each in scopes)


class Scopes:
    """The scopes that are open at the end of a document while it is written."""

    def __init__(self, repository: Repository, writer: DocumentWriter) -> None:
        self._repository = repository
        self._writer = writer
        self._open: list[tuple[Scope, int]] = []
        self._changed: list[bool] = []
        """Whether a macro that an open condition names was defined or undefined since."""
        self._opened: set[str] = set()

    def move_to(self, scopes: Sequence[Scope], file: int, blank: str = "\n\n") -> None:
        """Close the open scopes that are not among `scopes` of `file`, then write `blank` and open the missing ones."""
        shared = self._shared(scopes, file)
        turned = self._turns(scopes, shared, file)
        self.close(shared + turned, blank)
        if turned:
            self._turn(scopes[shared], file, blank)
        self._enter(scopes[shared + turned :], file, blank)

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
        is_conditional = any(isinstance(scope, Condition) for scope, _ in self._open)
        changed = self._changes(parts) if is_conditional else frozenset[str]()
        for number, (scope, _) in enumerate(self._open) if changed else ():
            if isinstance(scope, Condition) and not changed.isdisjoint(_WORD.findall(" ".join(scope.says))):
                self._changed[number] = True
        while self._open and len(self._open) <= len(scopes):
            scope = scopes[len(self._open) - 1]
            if isinstance(scope, Space) or not any(_shows(part, file, scope.closing) for part in parts):
                return
            self._pop()

    def _changes(self, parts: Sequence[Part]) -> AbstractSet[str]:
        """Return the macros that `parts` define or undefine."""
        texts = (self._repository.files[part.file].source.text[part.start : part.end] for part in parts)
        return {name for text in texts if "#" in text for name in _CHANGES.findall(text)}

    def was_open(self, name: str) -> bool:
        """Return whether the namespace of that name was opened before."""
        return name in self._opened

    def close(self, kept: int = 0, blank: str = "\n\n") -> None:
        """Close all scopes but the `kept` outermost."""
        inner = [scope for scope, _ in self._open[kept:]]
        if inner and isinstance(inner[-1], Space):
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

    def _shared(self, scopes: Sequence[Scope], file: int) -> int:
        """Return how many of the open scopes are among `scopes`."""
        pairs = enumerate(zip(self._open, ((scope, file) for scope in scopes), strict=False))
        return sum(1 for _ in takewhile(lambda pair: self._same(*pair[1]) and self._holds(pair[0], *pair[1][1]), pairs))

    def _holds(self, number: int, scope: Scope, file: int) -> bool:
        """Return whether an open scope may be that of other text with the same condition: it is the same conditional,
        or no macro that it names has changed.
        """
        present, own = self._open[number]
        return not self._changed[number] or (own == file and start_of(present) == start_of(scope))

    def _same(self, first: tuple[Scope, int], second: tuple[Scope, int]) -> bool:
        """Return whether two scopes, perhaps of different files, are one: equal names, opened by equal text."""
        (one, _), (other, _) = first, second
        if isinstance(one, Condition) or isinstance(other, Condition):
            return isinstance(one, Condition) and isinstance(other, Condition) and one.says == other.says
        texts = [" ".join(self._text(scope, file).split()) for scope, file in ((one, first[1]), (other, second[1]))]
        return one.name == other.name and texts[0] == texts[1]

    def _text(self, space: Space, file: int) -> str:
        return self._repository.files[file].source.text[space.opening.char_start : space.opening.char_end]

    def _turns(self, scopes: Sequence[Scope], shared: int, file: int) -> bool:
        """Return whether the scope at `shared` is a later arm of the conditional that is open there."""
        if shared >= len(self._open) or shared >= len(scopes):
            return False
        present, wanted = self._open[shared][0], scopes[shared]
        both = isinstance(present, Condition) and isinstance(wanted, Condition) and self._holds(shared, wanted, file)
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
        return self._open.pop()

    def _enter(self, fresh: Sequence[Scope], file: int, blank: str) -> None:
        if fresh and self._writer.size:
            self._writer.synthetic(blank)
        begin = self._writer.size
        for number, scope in enumerate(fresh):
            if number:
                self._writer.synthetic("\n")
            for place, line in enumerate(scope.lines if isinstance(scope, Condition) else (scope.opening,)):
                if place:
                    self._writer.synthetic("\n")
                self._writer.once(file, line, CONTEXT_ROLE)
            self._open.append((scope, file))
            self._changed.append(False)
            self._opened.add(scope.name if isinstance(scope, Space) else "")
        spaces = [scope.name for scope in fresh if isinstance(scope, Space)]
        if spaces:
            self._writer.context(begin, "namespace", spaces[-1])


def _shows(part: Part, file: int, span: Span) -> bool:
    return part.file == file and part.start <= span.char_start < part.end
