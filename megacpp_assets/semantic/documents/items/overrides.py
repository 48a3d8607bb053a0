"""The functions of classes by name: which are virtual, and which are pure, so that derived classes override them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet

from megacpp_assets.semantic.documents.items.beside import Member
from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import Members
from megacpp_assets.semantic.documents.items.recent import recent

_PURE = re.compile(r"=\s*0\s*;\Z")
_OVERRIDES = re.compile(r"(~?\b[A-Za-z_]\w*+)\s*+(?:\([^()]*+\)\s*+){1,2}[^(){};]*?\boverride\b")
"""A function, or the destructor of a class whose name a macro makes of arguments: `~NAME(a, b)() override`."""
_NESTED = re.compile(r"(?:class|struct)\b[^;(]*\{")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_PURE_WITHIN = re.compile(r"(~?\w+)\s*\([^;{}]*\)[^;{}()]*=\s*0\s*;")


class Overrides:
    """The functions among the members of the classes of one repository."""

    def __init__(self, items: Items, members: Members) -> None:
        self._items = items
        self._members = members
        self.in_macros = recent(self._in_macros)
        """The names of the functions that the macros in an item override, in classes that they define."""
        self._in_macro = recent(self._in_macro_of)

    def _in_macros(self, item: Item) -> AbstractSet[str]:
        return frozenset[str]().union(*map(self._in_macro, filter(self._items.is_macro, self._members.reached(item))))

    def _in_macro_of(self, macro: int) -> AbstractSet[str]:
        return frozenset(_OVERRIDES.findall(self._items.text(self._items.of[macro])))

    def with_bases(self, classes: Iterable[Item]) -> Iterable[Item]:
        """Return `classes` with the classes that their heads name, and that the heads of those name."""
        found = dict.fromkeys(classes)
        pending = [*found]
        while pending:
            fresh = [each for each in self._members.completes(pending.pop(), ()) if each not in found]
            found |= dict.fromkeys(fresh)
            pending += fresh
        return found

    def called(self, item: Item, numbers: Collection[int]) -> AbstractSet[str]:
        """Return the names of the functions among the members `numbers` of a class."""
        excerpt = self._members.of(item)
        return {excerpt.members[number].called for number in numbers} - {""} if excerpt else set()

    def virtual(self, item: Item, names: AbstractSet[str]) -> list[int]:
        """Return the members of a class that are virtual functions with one of `names`. All destructors have
        one name.
        """
        excerpt = self._members.of(item)
        members = enumerate(excerpt.members) if excerpt else ()
        known = {_role(name) for name in names}
        return [number for number, member in members if member.is_virtual and _role(member.called) in known]

    def pure(self, item: Item) -> Sequence[AbstractSet[str]]:
        """Return the names of the pure virtual functions that each member of a class declares. Those of nested classes
        are among them, because a class may have such a class as its base.
        """
        excerpt = self._members.of(item)
        return [self._pure_in(item, member) for member in (excerpt.members if excerpt else ())]

    def _pure_in(self, item: Item, member: Member) -> AbstractSet[str]:
        text = self._members.text(item, member.span)
        if member.is_virtual and _PURE.search(text):
            return {member.called}
        return {*_PURE_WITHIN.findall(_COMMENT.sub(" ", text))} if _NESTED.match(text) else set()

    def named(self, item: Item, names: AbstractSet[str]) -> list[int]:
        """Return the members of a class that are functions with one of `names`."""
        excerpt = self._members.of(item) if names else None
        return [number for number, each in enumerate(excerpt.members if excerpt else ()) if each.called in names]


def _role(called: str) -> str:
    """Return what an overriding function is found by: its name, or that it is a destructor."""
    return "~" if called.startswith("~") else called
