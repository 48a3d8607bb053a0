"""What can be shown of a class, and which of its members the declaration of another one names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from megacpp_assets.semantic.documents.items.class_names import completed_in, qualifiers_in
from megacpp_assets.semantic.documents.items.member_places import Cut, without_comment_lines
from megacpp_assets.semantic.documents.items.words import words_of
from megacpp_assets.semantic.graph.spaces import Span, spans_of
from megacpp_assets.semantic.tree.text import SourceText

_AHEAD = re.compile(r"(?:class|struct|union)\s+([A-Za-z_]\w*)\s*;")
_INVOKED = re.compile(r"([A-Za-z_]\w*)\s*\([^(){};]*\)\s*;?")
"""A macro that may define a function."""


class Member(NamedTuple):
    """A declaration in a class: its text, or a function's signature, which needs `closing`; the access label above it
    ("" for none), the ids of what it declares, its names if other members may be declared by them, and the name of a
    function ("" for others). `kept` are the parts of its text without the lines that hold only a comment; `chars` are
    the characters that it takes on a separate line."""

    span: Span
    kept: Sequence[Span]
    closing: str
    label: str
    ids: AbstractSet[int]
    names: AbstractSet[str]
    called: str
    is_virtual: bool
    chars: int

    def is_named_by(self, words: AbstractSet[str], has_code: bool) -> bool:
        """Return whether a declaration of `words` names it; functions are named by code alone."""
        return not self.names.isdisjoint(words) or (has_code and self.called in words)

    @property
    def is_friend(self) -> bool:
        """Whether it only names a friend."""
        return not self.ids


class Excerpt(NamedTuple):
    """What can be shown of a class: its head with its bases up to the brace, and its members."""

    opening: Span
    members: Sequence[Member]


class Beside:
    """The members of one class, by number, and their `codes`: their texts without comments."""

    def __init__(self, members: Sequence[Member], codes: Sequence[str]) -> None:
        self._members, self._codes = members, codes
        matches = [None if member.called else _AHEAD.fullmatch(codes[number]) for number, member in enumerate(members)]
        self._is_ahead = [match is not None for match in matches]
        ahead = {match[1] for match in matches if match}
        self._is_made = [
            bool(member.called)
            and (invoked := _INVOKED.fullmatch(codes[number])) is not None
            and invoked[1] != member.called
            for number, member in enumerate(members)
        ]
        """Whether a macro may define the function."""
        self._defines = {
            number: member.names
            for number, member in enumerate(members if ahead else ())
            if "{" in codes[number] and not member.called and member.names & ahead
        }
        """The classes in the class that another member declares ahead."""

    def named_with(self, number: int) -> set[int]:
        """Return member `number` with the others that its declaration names, and those that theirs name."""
        found, pending = {number}, [number]
        while pending and self._members:
            fresh = self._named_by(pending.pop()) - found
            found |= fresh
            pending += fresh
        return found

    def _named_by(self, number: int) -> set[int]:
        """Return the members that one of them names. Of a class that is declared ahead, this is enough for a pointer
        or a reference.
        """
        code = self._codes[number]
        words = words_of(code)
        has_code = "{" in code or self._is_made[number]
        found = {each for each, other in enumerate(self._members) if other.is_named_by(words, has_code)}
        if self._is_made[number]:  # It may call an overload that another macro defines, as constructors do.
            called = self._members[number].called
            found |= {
                each for each, other in enumerate(self._members) if self._is_made[each] and other.called == called
            }
        if defined := found & self._defines.keys():
            complete = frozenset[str]().union(*completed_in(code), qualifiers_in(code))
            is_ahead = self._is_ahead[number]
            found -= {each for each in defined if is_ahead or self._defines[each].isdisjoint(complete)}
        return found


def excerpt_of(source: SourceText, head: tuple[int, int], found: Sequence[Cut]) -> Excerpt:
    """Return the excerpt of a class with that `head`, in bytes, whose members were `found`."""
    kept = [without_comment_lines(source.data, *each.place) for each in found]
    opening, *spans = spans_of(source, [head, *(each.place for each in found)])
    parts = iter(spans_of(source, [place for places in kept for place in places]))
    members: list[Member] = []
    for span, places, each in zip(spans, kept, found, strict=True):
        shown = [next(parts) for _ in places]
        chars = sum(part.char_end - part.char_start for part in shown) + len(each.closing) + 3
        members.append(Member(span, shown, *each[1:-1], chars))
    return Excerpt(opening, members)
