"""Finds headers that set a macro which other headers test, and units that test or set it before they include the
header.

A precompiled header comes before everything else in a unit. With such a header that would change the meaning of files.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from megacpp_assets.semantic.tree.includes import guard_of

_CONDITIONS = frozenset({b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef"})
_SETTINGS = frozenset({b"define", b"undef"})
_NAME = re.compile(rb"\b[A-Za-z]\w*")
"""Names that start with an underscore belong to the compiler or the system."""
_NONE: AbstractSet[str] = frozenset()


class Step(NamedTuple):
    """One directive of a file: it includes a file (`include` is the rest of its line), tests macros, or sets one.

    `default`: the directive before it tests the same macro, as in `#ifndef X` and `#define X`.
    """

    include: bytes = b""
    tested: Sequence[bytes] = ()
    set: Sequence[bytes] = ()
    default: bool = False


def steps(lines: Sequence[tuple[bytes, bytes]]) -> Iterator[Step]:
    """Yield the directives of a file in their order, without those of other kinds."""
    tested: Sequence[bytes] = ()
    guard = guard_of(lines)
    for word, rest in lines:
        name = _NAME.match(rest) if word in _SETTINGS else None
        if word == b"include":
            yield Step(include=rest)
        elif name:
            yield Step(set=(name[0],), default=name[0] in tested and name[0] != guard)
        tested = _NAME.findall(rest) if word in _CONDITIONS else ()
        if tested:
            yield Step(tested=tested)


class TestedMacros:
    """The macros that some headers of a tree set and test. `reached` has the files of the tree that each header
    includes.
    """

    def __init__(self, reached: Iterable[AbstractSet[str]], steps_of: Callable[[str], Sequence[Step]]) -> None:
        self._tested: dict[bytes, set[str]] = defaultdict(set)
        self._set: dict[bytes, set[str]] = defaultdict(set)
        for header in frozenset().union(*reached):
            for step in steps_of(header):
                for name in step.tested:
                    self._tested[name].add(header)
                for name in () if step.default else step.set:
                    self._set[name].add(header)
        both = [(self._set[name], self._tested[name]) for name in self._set.keys() & self._tested.keys()]
        self._between = [(setters, testers) for setters, testers in both if len(setters | testers) > 1]

    def disagree(self, one: AbstractSet[str], other: AbstractSet[str]) -> bool:
        """Return whether one of two headers tests a macro that the other one sets independently."""
        return any(
            (setters & other - one and testers & one) or (setters & one - other and testers & other)
            for setters, testers in self._between
        )

    def is_order_dependent(self, unit: Iterable[Step], reached: Callable[[bytes], AbstractSet[str]]) -> bool:
        """Return whether a unit tests or sets a macro before it includes the header that does the opposite.

        `reached` returns the files that an include reaches.
        """
        before: set[str] = set()
        for step in unit:
            opposite = [self._set.get(name, _NONE) for name in step.tested]
            opposite += [self._tested.get(name, _NONE) for name in step.set]
            if any(headers - before for headers in opposite):
                return True
            if step.include:
                before |= reached(step.include)
        return False
