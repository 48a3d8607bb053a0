"""Finds the preprocessor conditions around an offset: the arms of conditionals that contain it.

Include guards, of whole files or of headers that were pasted into a file, and conditionals without an `#endif` are left
out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from megacpp_assets.semantic.graph.groups import guard_definitions, has_guard_name, is_aside
from megacpp_assets.semantic.graph.spaces import Span, spans_of
from megacpp_assets.semantic.outline.lexer import Lexed
from megacpp_assets.semantic.tree.text import SourceText

OPENING = frozenset({"if", "ifdef", "ifndef"})
_TURNING = frozenset({"elif", "elifdef", "elifndef", "else"})
_GUARD = re.compile(rb"[ \t]*#[ \t]*(?:ifndef[ \t]+|if[ \t]*![ \t]*defined[ \t]*\(?[ \t]*)(\w+)[ \t]*\)?")
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*((?:[^/]|/(?![/*]))*)")
_TESTED = re.compile(r"(!?)\s*\bdefined\b\s*\(?\s*(\w+)\s*\)?")
_CALLED = re.compile(r"\b(?!(?:defined|and|or|not)\b|__)([A-Za-z_]\w*)\s*\(")
_ONLY_TEST = re.compile(r"\s*(!?)\s*defined\s*(?:\(\s*(\w+)\s*\)|(\w+))\s*")
_NAME = re.compile(r"\b[A-Za-z_]\w*")
_DEFINED = re.compile(rb"[ \t]*#[ \t]*define[ \t]+(\w+)")
_KEPT = 1 << 14
"""Conditions whose macros are remembered, because many documents are under the same ones."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An arm of a conditional: its directives from `#if` to the one that begins this arm, and its `#endif`.

    `says` is the text of these directives with single spaces. Arms with equal texts have the same condition.
    """

    lines: tuple[Span, ...]
    closing: Span
    says: tuple[str, ...]

    @property
    def start(self) -> int:
        """The byte where the conditional begins."""
        return self.lines[0].start

    @property
    def chars(self) -> int:
        """The number of characters of its directives and its `#endif`, each on a line of its own."""
        return sum(line.char_end - line.char_start + 1 for line in (*self.lines, self.closing))

    def asked(self) -> frozenset[str]:
        """Return the macros that may have to be defined for this arm to be the one that the preprocessor takes.

        A macro that must not be defined is not among them.
        """
        return _asked_in(self.says)

    def denied(self) -> frozenset[str]:
        """Return the macros that alone, if they are defined, keep the preprocessor from taking this arm."""
        return _denied_in(self.says)

    def named(self) -> frozenset[str]:
        """Return the words of its directives, with all macros on which they depend."""
        return _named_in(self.says)

    def called(self) -> frozenset[str]:
        """Return the macros that its directives call. Those of a compiler, as `__has_include`, are not among them."""
        return _called_in(self.says)


@lru_cache(_KEPT)
def _asked_in(says: tuple[str, ...]) -> frozenset[str]:
    names: set[str] = set()
    for number, line in enumerate(says):
        is_true = number == len(says) - 1
        directive = _DIRECTIVE.match(line)
        if directive is None or directive[1] == "else":
            continue
        tests = {(name, not mark) for mark, name in _TESTED.findall(directive[2])}
        if directive[1].endswith("def"):
            tests = {(directive[2].split()[0] if directive[2] else "", not directive[1].endswith("ndef"))}
        tested = {name for name, _ in tests}
        names |= {name for name, is_defined in tests if is_defined == is_true}
        names |= set(_NAME.findall(_TESTED.sub(" ", directive[2]))) - tested
    return frozenset(names - {""})


@lru_cache(_KEPT)
def _denied_in(says: tuple[str, ...]) -> frozenset[str]:
    names: set[str] = set()
    for number, line in enumerate(says):
        directive, is_true = _DIRECTIVE.match(line), number == len(says) - 1
        if directive and directive[1].endswith("def"):
            is_denied = bool(directive[2]) and directive[1].endswith("ndef") == is_true
            names |= {directive[2].split()[0]} if is_denied else set()
        elif directive:
            # One false part makes `a && b` false, one true part makes `a || b` true.
            with_, without = ("&&", "||") if is_true else ("||", "&&")
            parts = directive[2].split(with_) if without not in directive[2] else []
            tests = [test for part in parts if (test := _ONLY_TEST.fullmatch(part))]
            names |= {test[2] or test[3] for test in tests if bool(test[1]) == is_true}
    return frozenset(names)


@lru_cache(_KEPT)
def _named_in(says: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for line in says for name in _NAME.findall(line))


@lru_cache(_KEPT)
def _called_in(says: tuple[str, ...]) -> frozenset[str]:
    matches = (_DIRECTIVE.match(line) for line in says)
    return frozenset(name for match in matches if match for name in _CALLED.findall(match[2]))


class Conditions:
    """The conditionals of one file."""

    def __init__(self, source: SourceText, lexed: Lexed) -> None:
        self._source = source
        self._lexed = lexed
        self._made: dict[tuple[int, ...], Condition] = {}
        self._ends = _ends(source.data, lexed)
        self._starts: list[int] = lexed.directives[:, 0].tolist()
        self._open = self._open_before()

    def around(self, offset: int) -> tuple[Condition, ...]:
        """Return the conditions around the byte `offset`, outer ones first."""
        return tuple(map(self._arm, self._open[bisect_left(self._starts, offset)]))

    def _open_before(self) -> list[tuple[tuple[int, ...], ...]]:
        """Return the open arms before each directive and at the end of the file, as numbers of directives."""
        open_: list[tuple[int, ...]] = []
        found: list[tuple[tuple[int, ...], ...]] = []
        for number, name in enumerate(self._lexed.names):
            found.append(tuple(open_))
            if number in self._ends:
                open_.append((number,))
            elif name in _TURNING and open_:
                open_[-1] = (*open_[-1], number)
            elif open_ and number == self._ends[open_[-1][0]]:
                open_.pop()
        return [*found, tuple(open_)]

    def _arm(self, numbers: tuple[int, ...]) -> Condition:
        found = self._made.get(numbers)
        if found is None:
            places = self._lexed.directives[[*numbers, self._ends[numbers[0]]]].tolist()
            *lines, closing = spans_of(self._source, [(start, end) for start, end in places])
            texts = (self._source.data[start:end].decode(errors="replace") for start, end in places[:-1])
            found = Condition(tuple(lines), closing, tuple(" ".join(text.split()) for text in texts))
            self._made[numbers] = found
        return found


def _ends(code: bytes, lexed: Lexed) -> dict[int, int]:
    """Return the number of the `#endif` of each conditional by the number of its `#if`, without the include guards."""
    opened: list[int] = []
    ends: dict[int, int] = {}
    turned: set[int] = set()
    for number, name in enumerate(lexed.names):
        if name in OPENING:
            opened.append(number)
        elif name in _TURNING and opened:
            turned.add(opened[-1])
        elif name == "endif" and opened:
            ends[opened.pop()] = number
    guards = _guards(code, lexed, ends) - turned
    return {number: end for number, end in ends.items() if number not in guards}


def _guards(code: bytes, lexed: Lexed, ends: Mapping[int, int]) -> frozenset[int]:
    """Return the numbers of the `#ifndef`s of include guards: they have the name of one, or end at the end of the file.

    `#ifndef HAVE_COPY`, `#define HAVE_COPY` around a function is a condition like others.
    """
    defined = guard_definitions(code, lexed)
    named = {number - 1 for number in defined if has_guard_name(code, lexed, number)}
    pairs = ({number - 1 for number in defined} | {guard_number(code, lexed)}) & ends.keys()
    whole = {number for number in pairs if is_aside(code, int(lexed.directives[ends[number], 1]), len(code))}
    return frozenset(named | whole)


def guard_number(code: bytes, lexed: Lexed) -> int:
    """Return the number of the `#ifndef` of a possible include guard, or -1.

    It is the first directive that is not a pragma, and the `#define` of its macro follows directly.
    """
    number = next((number for number, name in enumerate(lexed.names) if name != "pragma"), -1)
    if number < 0 or number + 1 >= len(lexed.names):
        return -1
    (start, end), (behind, behind_end) = lexed.directives[number : number + 2].tolist()
    asked, defined = _GUARD.fullmatch(code[start:end].rstrip()), _DEFINED.match(code[behind:behind_end])
    same = asked is not None and defined is not None and asked[1] == defined[1]
    return number if same and is_aside(code, end, behind) else -1


def runs_of_directives(code: bytes, lexed: Lexed) -> Sequence[range]:
    """Return the numbers of directives, in runs without a declaration between them."""
    places = lexed.directives.tolist()
    if not places:
        return []
    firsts = [0]
    firsts += [
        number for number in range(1, len(places)) if not is_aside(code, places[number - 1][1], places[number][0])
    ]
    return [range(first, last) for first, last in zip(firsts, [*firsts[1:], len(places)], strict=True)]
