"""Where the members of a class are in its text: declarations, friends and macros by their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from megacpp_assets.semantic.graph.symbol_rows import CLASS, KINDS, MACRO, Entities, Form
from megacpp_assets.semantic.labels.symbol_names import symbol_id

ASIDE = re.compile(rb"//[^\n]*|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/)?", re.S)
"""A comment. One without an end takes the rest of the text: otherwise each `/*` in a literal would read it all."""
_LINE_END = re.compile(rb"[ \t\r]*\n")
_FRIEND = re.compile(rb"(?:" + ASIDE.pattern + rb")|\b(friend\s+(?:(?:class|struct|union)\s+)?[\w:]+\s*;)", re.S)
_DEFINE = re.compile(rb"[ \t]*#[ \t]*define[ \t]+\Z")
_CONDITION = re.compile(rb"^[ \t]*#[ \t]*(if|el|en)", re.M)


_OPEN_CALL = re.compile(rb"\b[A-Za-z_]\w*+[ \t]*+\([^(){};]*+\Z")
"""The call of a macro up to one of its arguments."""


class Cut(NamedTuple):
    """A member whose `place` is in bytes alone."""

    place: tuple[int, int]
    closing: str
    label: str
    ids: AbstractSet[int]
    names: AbstractSet[str]
    called: str
    is_virtual: bool
    is_macro: bool = False


class Place(NamedTuple):
    start: int
    end: int
    name: str
    kind: str
    form: int


def without_comment_lines(code: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of bytes [start, end) of `code`, without the lines that hold only a comment.

    A comment behind or before a backslash at the end of a line is a part of a literal or of a macro's definition. Lines
    of a raw literal look like comments too, so that a text with one is kept whole.
    """
    parts, begin, reached = list[tuple[int, int]](), start, start
    may_have = b"\n" in (text := code[start:end]) and b'R"' not in text
    for comment in ASIDE.finditer(code, start, end) if may_have else ():
        line = code.rfind(b"\n", reached, comment.start()) + 1
        reached = comment.end()
        stop = _LINE_END.match(code, reached, end)
        is_alone = line > 0 and stop is not None and not code[line : comment.start()].strip()
        goes_on = comment[0].rstrip(b"\r").endswith(b"\\") or code[max(0, line - 3) : line].endswith(
            (b"\\\n", b"\\\r\n")
        )
        if is_alone and stop is not None and not goes_on:
            parts.append((begin, line))
            begin, reached = stop.end(), stop.end() - 1
    parts.append((begin, end))
    return [(first, last) for first, last in parts if first < last]


def called_name(name: str) -> str:
    """Return the last name of the function `name`; the constructor of a template has none of its parameters in it."""
    last = name.rpartition("::")[2]
    return last if last.startswith("operator") else last.partition("<")[0]


def names_in_class(first: Place, held: Sequence[Place]) -> frozenset[str]:
    """Return the names that the member `first`, which holds the others, declares in its class.

    What a class with a name holds needs that name, so another member does not mean it by its own name alone.
    """
    is_scope = first.kind == CLASS and not first.name.endswith(")")
    return frozenset(each.name.rpartition("::")[2] for each in (first, *(() if is_scope else held)))


def places_in(entities: Entities, start: int, end: int) -> list[Place]:
    """Return where entities are declared in bytes [start, end), but for what functions hold; a larger place before what
    is in it.
    """
    first, last = np.searchsorted(entities.start, (start, end)).tolist()
    rows = (
        Place(
            int(entities.start[row]),
            int(entities.end[row]),
            entities.name[row],
            KINDS[entities.kind[row]],
            int(entities.form[row]),
        )
        for row in range(first, last)
    )
    inside = (place for place in rows if place.form & Form.OUTER and place.end <= end)
    return sorted(inside, key=lambda place: (place.start, -place.end))


def outermost(places: Iterable[Place]) -> Iterator[list[Place]]:
    """Yield each place that no other holds, with those that it holds."""
    held: list[Place] = []
    for place in places:
        if held and place.start >= held[0].end:
            yield held
            held = []
        held.append(place)
    if held:
        yield held


def with_macro(code: bytes, reached: int, place: Place) -> Place:
    """Return a place that begins in the arguments of a macro from the macro on, if that is behind byte `reached`.

    There the name of a constructor is that argument, as in `DEFINE_ERROR(Base, Error)`.
    """
    text = code[place.start : place.end]
    if place.form & Form.BODY or text.count(b"(") >= text.count(b")"):
        return place
    call = _OPEN_CALL.search(code, reached, place.start)
    return place if call is None else place._replace(start=call.start())


def friends_in(code: bytes, start: int, end: int, label: str) -> Iterator[Cut]:
    """Yield the friends that a class names in bytes [start, end), between two of its members."""
    for match in _FRIEND.finditer(code, start, end):
        if match[1]:
            yield Cut(match.span(1), "", label, frozenset(), frozenset(), "", is_virtual=False)


def macros_in(code: bytes, entities: Entities, start: int, end: int) -> Iterator[Cut]:
    """Yield the macros that are defined in bytes [start, end) of a class, outside of conditions and of its
    functions.
    """
    first, last = np.searchsorted(entities.start, (start, end)).tolist()
    bodies = [each for each in places_in(entities, start, end) if each.form & Form.BODY]
    for row in range(first, last):
        place, stop = int(entities.start[row]), int(entities.end[row])
        line = code.rfind(b"\n", start, place) + 1
        is_inside = line > 0 and _DEFINE.match(code, line, place) and not any(b.start < line < b.end for b in bodies)
        if entities.kind[row] != KINDS.index(MACRO) or not is_inside or not has_whole_conditions(code[start:line]):
            continue
        name = entities.name[row]
        ids, hash_at = frozenset((symbol_id(name),)), code.index(b"#", line)
        yield Cut((hash_at, stop), "", "", ids, frozenset((name,)), "", is_virtual=False, is_macro=True)


def has_whole_conditions(code: bytes) -> bool:
    """Return whether each condition that begins in `code` ends there, and the other way round."""
    depth = 0
    for directive in _CONDITION.findall(code):
        depth += {b"if": 1, b"en": -1}.get(directive, 0)
        if depth < 0 or (depth == 0 and directive == b"el"):
            return False
    return depth == 0
