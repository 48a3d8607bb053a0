"""Groups a file's top-level declarations, overlapping ones together, and the macros between them, for chunks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.outline.kinds import MACRO_USE
from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.outline.nodes import Outline, Role

METHOD_BYTES = 160
"""An inline method of at least this size is a chunk of its own; 128 chunks must suffice for 4096 tokens."""

_KIND_OF_ROLE = {
    Role.FUNCTION: "func_body",
    Role.CLASS: "class_decl",
    Role.TYPEDEF: "typedef",
    Role.PROTOTYPE: "func_sig",
    Role.USING: "preamble",
    Role.MEMBER: "class_member",
    Role.VARIABLE: "other",
    Role.OTHER: "other",
}
"""Roles in order of rank: a group is named after its node with the first of these roles."""
_RANK = np.array([[*_KIND_OF_ROLE, Role.NAMESPACE, Role.BODY].index(role) for role in Role], dtype=np.int64)
_KINDS = [_KIND_OF_ROLE.get(role, "") for role in Role]
_WORD = re.compile(rb"[0-9A-Z_a-z\x7f-\xff]")
_GUARD_NAME = re.compile(rb"_(?:H|HH|HPP|HXX|INC|INCLUDED)(?:_*[0-9A-F]{4,})*_*\Z", re.I)
"""A header's name, perhaps with a random number behind it."""
_QUALIFIED = re.compile(rb"\b(?:class|struct|union)\s+((?:\w+\s*::\s*)+\w+)")
_HEAD_BYTES = 400
"""The name of a class is looked for in so many bytes."""
_ASIDE = re.compile(rb"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.S)

INCLUDES = frozenset({"include", "include_next", "import"})
CONFIGURING = frozenset({"define", "undef", "pragma"})
"""Directives that a later include may depend on."""
MOST_CONFIGURING = 8
"""The number of definitions before an include that are shown with it; the nearest are chosen."""

Ints = NDArray[np.int64]
Method = tuple[int, int, str]
"""Start, end and name of an inline method."""


class Group(NamedTuple):
    """Declarations that overlap in the text: one class with its members, one function, one macro, ...

    `major`: it is a root of its own. `declared`: it is not a macro definition. `bare`: it begins with the use of a
    macro. `methods` are the larger inline methods of a class, in file order.
    """

    start: int
    end: int
    kind: str
    name: str
    major: bool = False
    declared: bool = False
    bare: bool = False
    methods: tuple[Method, ...] = ()


def groups_of(code: bytes, lexed: Lexed, outline: Outline) -> list[Group]:
    """Return the groups of a file in file order. Text without a word is not a group."""
    declared = _declared(outline.take((outline.role != Role.NAMESPACE) & (outline.role != Role.BODY)))
    found = [_fully_named(code, group) for group in declared]
    taken = np.array([(group.start, group.end) for group in found], dtype=np.int64).reshape(-1, 2)
    found += _macros(code, lexed, taken)
    solid = [group for group in found if has_word(code[group.start : group.end])]
    return _prefixed(code, sorted(solid, key=lambda group: group.start))


def has_word(text: bytes) -> bool:
    """Return whether `text` has more than punctuation and space."""
    return _WORD.search(text) is not None


def _declared(nodes: Outline) -> list[Group]:
    """Return the groups of `nodes`, which must be in pre-order."""
    if not len(nodes):
        return []
    first = np.flatnonzero(nodes.start >= np.append(-1, np.maximum.accumulate(nodes.end)[:-1]))
    of = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(nodes))))
    lead = _leads(nodes, first, of)
    role = nodes.role[lead]
    major = (role == Role.FUNCTION) | ((role == Role.CLASS) & nodes.definition[lead])
    declared = np.ones(len(first), dtype=bool)
    end, bare = np.maximum.reduceat(nodes.end, first), nodes.kind[first] == MACRO_USE
    start, end, major, declared, bare = (c.tolist() for c in (nodes.start[first], end, major, declared, bare))
    kind = map(_KINDS.__getitem__, role.tolist())
    return list(
        map(Group, start, end, kind, _names(nodes, first, lead), major, declared, bare, _methods(nodes, of, role))
    )


def _leads(nodes: Outline, first: Ints, of: Ints) -> Ints:
    """Return the node after which each group is named: the first one by rank.

    If that is a class that a typedef only refers to, it is the typedef. If it is a function inside of a class, it is
    the class.
    """
    order = np.lexsort((-nodes.end, nodes.start, ~nodes.definition, _RANK[nodes.role], of))
    lead = order[first]
    typedef = _first(nodes.role == Role.TYPEDEF, first)
    named = (nodes.role[lead] == Role.CLASS) & ~nodes.definition[lead] & (typedef < len(nodes))
    lead = np.where(named, typedef, lead)
    holds = (nodes.role == Role.CLASS) & nodes.definition & (nodes.start <= nodes.start[lead][of])
    holder = _first(holds, first)
    held = (nodes.role[lead] == Role.FUNCTION) & (np.append(nodes.end, -1)[holder] >= nodes.end[lead])
    return np.where(held, holder, lead)


def _first(marked: NDArray[np.bool_], first: Ints) -> Ints:
    """Return the first marked node of each group, or the number of all nodes if none is marked."""
    return np.asarray(np.minimum.reduceat(np.where(marked, np.arange(len(marked)), len(marked)), first))


def _names(nodes: Outline, first: Ints, lead: Ints) -> list[str]:
    """Return the names of groups.

    If the leading node has none, or one that ends in ")", another name of the group counts.

    libclang names an unnamed entity like `(anonymous struct at file.h:3:1)`.
    """
    names: list[str] = nodes.name[lead].tolist()
    ends = np.append(first, len(nodes)).tolist()
    for number, name in enumerate(names):
        if not name or name.endswith(")"):
            others = nodes.name[ends[number] : ends[number + 1]]
            names[number] = next((other for other in others if other and not other.endswith(")")), name)
    return names


def _fully_named(code: bytes, group: Group) -> Group:
    """Return a class with its full name where libclang knows only its first part, as of `struct ns::hash<Key>` where
    no `ns` is declared."""
    if group.kind != "class_decl" or (group.name + "::").encode() not in code[group.start : group.start + _HEAD_BYTES]:
        return group
    written = _QUALIFIED.search(code, group.start, group.end)
    name = b"".join(written[1].split()).decode(errors="replace") if written else ""
    return group._replace(name=name) if name.startswith(f"{group.name}::") else group


def _methods(nodes: Outline, of: Ints, role: NDArray[np.uint8]) -> Iterator[tuple[Method, ...]]:
    """Return the larger methods of each group that is a class. `role` has the roles of groups."""
    large = (nodes.role == Role.FUNCTION) & (nodes.end - nodes.start >= METHOD_BYTES)
    chosen = np.flatnonzero(large & (role == Role.CLASS)[of])
    columns = (of[chosen], nodes.start[chosen], nodes.end[chosen], nodes.name[chosen])
    found: dict[int, list[Method]] = defaultdict(list)
    for number, start, end, name in zip(*(column.tolist() for column in columns), strict=True):
        found[number].append((start, end, name))
    return (tuple(found.get(number, ())) for number in range(len(role)))


def _macros(code: bytes, lexed: Lexed, taken: Ints) -> Iterator[Group]:
    """Yield macro definitions outside of the `taken` ranges, each with the includes that it configures.

    Macros of include guards are left out, also of guards in the middle of a file.
    """
    starts = lexed.directives[:, 0]
    place = np.searchsorted(taken[:, 0], starts, side="right") - 1
    free = (
        np.append(taken[:, 1], -1)[place] <= starts
    )  # place -1 selects the appended -1, so text before all ranges is free
    guards, reached = guard_definitions(code, lexed), -1
    for number in np.flatnonzero(free).tolist():
        if lexed.names[number] != "define" or number <= reached:
            continue
        words = _words(code, lexed, number)
        if words and number not in guards:
            reached = _configured(code, lexed, number)
            start, end = int(lexed.directives[number, 0]), int(lexed.directives[reached, 1])
            yield Group(start, end, "preamble", words[0].split(b"(")[0].decode(errors="replace"))


def _configured(code: bytes, lexed: Lexed, number: int) -> int:
    """Return the last directive that belongs to the definition `number`, or `number` if no include follows.

    The includes after the definition and the `#undef`s after them belong to it.
    """
    names, last, included = lexed.names, number, False
    run = takewhile(lambda each: _follows(code, lexed, each), range(number + 1, len(names)))
    for each in takewhile(lambda each: names[each] in CONFIGURING or names[each] in INCLUDES, run):
        if each - number >= MOST_CONFIGURING and not included:
            break
        included = included or names[each] in INCLUDES
        last = each if included and names[each] in (*INCLUDES, "undef") else last
    return last


def _follows(code: bytes, lexed: Lexed, number: int) -> bool:
    """Return whether only space and comments are between a directive and the one before it."""
    return is_aside(code, int(lexed.directives[number - 1, 1]), int(lexed.directives[number, 0]))


def is_aside(code: bytes, start: int, end: int) -> bool:
    """Return whether bytes [start, end) are only space and comments."""
    found = _ASIDE.match(code, start, end)
    return found is not None and found.end() == end


def has_guard(code: bytes, lexed: Lexed) -> bool:
    """Return whether the first two directives of a file form an include guard."""
    is_pair = lexed.names[:2] == ("ifndef", "define") and _words(code, lexed, 0)[:1] == _words(code, lexed, 1)
    return is_pair and not _is_default(code, lexed, 1)


def guard_definitions(code: bytes, lexed: Lexed) -> frozenset[int]:
    """Return the definitions without a value that directly follow the `#ifndef` of their macro, if more follows.

    An amalgamation has one for each header that was pasted into it. A document that shows text of such a header twice
    under its `#ifndef` must not show the definition, or the preprocessor skips the second text. A block of definitions
    alone gives macros their defaults: its first one is a guard only if it has the name of one.
    """
    names = lexed.names
    places = (
        number for number, name in enumerate(names) if name == "define" and number and names[number - 1] == "ifndef"
    )
    return frozenset(
        number
        for number in places
        if number + 1 < len(names)
        and _words(code, lexed, number - 1)[:1] == [b" ".join(_words(code, lexed, number))]
        and _follows(code, lexed, number)
        and not _is_default(code, lexed, number)
    ) | (frozenset((1,)) if has_guard(code, lexed) else frozenset())


def _is_default(code: bytes, lexed: Lexed, number: int) -> bool:
    """Return whether only definitions follow the definition `number` up to the `#endif`.

    It is a guard nevertheless if it has the name of one, or if the block has all directives of the file.
    """
    last = number + 1
    while last < len(lexed.names) and _follows(code, lexed, last) and lexed.names[last] == "define":
        last += 1
    ends = last < len(lexed.names) and _follows(code, lexed, last) and lexed.names[last] == "endif"
    is_named = last > number + 1 and has_guard_name(code, lexed, number)
    return ends and not is_named and (number > 1 or last + 1 < len(lexed.names))


def has_guard_name(code: bytes, lexed: Lexed, number: int) -> bool:
    """Return whether the macro of the definition `number` has the name of an include guard, as `LIB_H`."""
    return _GUARD_NAME.search(_words(code, lexed, number)[0]) is not None


def _words(code: bytes, lexed: Lexed, number: int) -> list[bytes]:
    """Return the first word after the name of a directive, and the rest."""
    start, end = lexed.directives[number].tolist()
    return code[start:end].partition(lexed.names[number].encode() or b"#")[2].split(None, 1)


def _prefixed(code: bytes, groups: list[Group]) -> list[Group]:
    """Return `groups` with each bare macro (MY_EXPORT) joined to the declaration directly after it."""
    result: list[Group] = []
    for group in groups:
        last = result[-1] if result else None
        if last is not None and last.bare and group.declared:
            between = code[last.end : group.start]
            if code[last.end - 1 : last.end] not in b";)" and not between.strip() and between.count(b"\n") < 2:
                result[-1] = group._replace(start=last.start)
                continue
        result.append(group)
    return result
