"""Finds the functions that a compiler needs with their bodies where they are called.

It evaluates what constants and static assertions call. A method whose type is `auto` has no type without its body.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from megacpp_assets.semantic.documents.context.passages import Passage, Passages
from megacpp_assets.semantic.documents.items.items import Items
from megacpp_assets.semantic.documents.items.recent import recent
from megacpp_assets.semantic.documents.items.words import without_comments, words_of
from megacpp_assets.semantic.graph.repository import Repository
from megacpp_assets.semantic.graph.signatures import needs_body

_CONSTANT, _ASSERTION = "constexpr", "static_assert"
_OPENED = re.compile(r"\)[^;{}()]*+\{")
"""Where the body of a function or of a statement begins."""
_LONGEST = 1200
"""The maximum number of characters of a function whose body is shown because the compiler evaluates it."""
_MOST = 64
"""The maximum number of functions that the compiler evaluates for one passage."""
_BRACKETS = {"[]": "[", "()": "("}
"""The operators that a text writes around an argument."""


class Evaluated:
    """The functions of one repository that are needed with their bodies."""

    def __init__(self, repository: Repository, items: Items, passages: Passages) -> None:
        self._repository = repository
        self._items = items
        self._passages = passages
        self._called = recent(self._called_by)
        """The short functions with bodies that a chunk calls."""
        self.of = recent(self._of)
        """The functions that the constants and assertions of a passage call, and those that these call."""
        self._is_evaluated, self._is_deduced = recent(self._is_short_with_body), recent(self._has_deduced_type)
        self.deduced = recent(self._deduced_in)
        """The methods with deduced types that a passage calls."""

    def _of(self, passage: Passage) -> Sequence[int]:
        text = " ".join(self._statements(passage))
        words = words_of(text)
        called = (target for number in range(*passage.unit) for target in self._called(number))
        found = dict.fromkeys(target for target in called if text and self._is_in(text, words, target))
        pending = deque(found)
        while pending and len(found) < _MOST:
            fresh = [target for target in self._called(pending.popleft()) if target not in found]
            found |= dict.fromkeys(fresh)
            pending += fresh
        return tuple(found)

    def _deduced_in(self, passage: Passage) -> Sequence[int]:
        called = (target for number in range(*passage.unit) for target in self._called(number))
        return tuple(dict.fromkeys(filter(self._is_deduced, called)))

    def _statements(self, passage: Passage) -> Iterator[str]:
        """Yield the statements of a passage that the compiler evaluates: constants and static assertions."""
        text = self._passages.text(passage)
        macros = {
            target for _, used in self._passages.targets(passage) for target in used if self._is_specifier(target)
        }
        evaluated = {_CONSTANT, _ASSERTION}.union(*map(self._items.defined, macros))
        if any(each in text for each in evaluated):
            for statement in text.split(";"):
                last = _OPENED.split(statement)[-1]
                if not evaluated.isdisjoint(words_of(last)):
                    yield last

    def _is_specifier(self, number: int) -> bool:
        """Return whether a macro stands for the specifier of a constant."""
        return self._items.is_macro(number) and _CONSTANT in self._items.words(number)

    def _called_by(self, number: int) -> Sequence[int]:
        targets = dict.fromkeys(target for target, _, _ in self._repository.out[number])
        return tuple(filter(self._is_evaluated, targets))

    def _is_short_with_body(self, number: int) -> bool:
        is_short = self._items.whole_chars((number, number + 1)) <= _LONGEST
        return is_short and (self._is_deduced(number) or number in self._items.bodies(self._items.of[number]))

    def _has_deduced_type(self, number: int) -> bool:
        """Return whether chunk `number` is a method, defined outside of its class, whose type is deduced from its
        body."""
        item = self._items.of[number]
        if self._repository.nodes[number].signature is not None or self._items.holder(item) is None:
            return False
        return needs_body(without_comments(self._items.text(item)).partition("{")[0].encode())

    def _is_in(self, text: str, words: AbstractSet[str], number: int) -> bool:
        """Return whether `text`, of these `words`, calls chunk `number`, or a conversion, which no text names."""
        return any(_is_called(name, text, words) for name in self._items.defined(number))


def _is_called(name: str, text: str, words: AbstractSet[str]) -> bool:
    """Return whether `text`, of these `words`, calls the function `name`. It writes an operator as a symbol."""
    operator = name.removeprefix("operator")
    is_conversion, is_operator = operator.startswith(" "), operator != name
    return name in words or is_conversion or (is_operator and _BRACKETS.get(operator, operator) in text)
