"""Enumerators of an enumeration that is shown in part, and those without which another one would have another value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from megacpp_assets.semantic.documents.items.member_places import Cut, outermost, places_in
from megacpp_assets.semantic.graph.symbol_rows import ENUMERATOR, Entities
from megacpp_assets.semantic.labels.symbol_names import symbol_id

_ASIDE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\[\[.*?\]\]", re.S)
_OPENS = re.compile(r"^[ \t]*#[ \t]*if", re.M)
_CLOSES = re.compile(r"^[ \t]*#[ \t]*endif", re.M)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NOBODY: frozenset[int] = frozenset()


def enumerators_in(entities: Entities, start: int, end: int) -> Iterator[Cut]:
    """Yield the enumerators between the bytes `start` and `end` of a file, each with its comma."""
    for first, *_ in outermost(places_in(entities, start, end)):
        if first.kind == ENUMERATOR:
            ids = frozenset((symbol_id(first.name),))
            yield Cut((first.start, first.end), "", "", ids, frozenset(), "", is_virtual=False)


def valued_with(text: str, places: Sequence[tuple[int, int]]) -> list[AbstractSet[int]]:
    """Return for each enumerator the numbers of those that must be shown with it, its own among them.

    `text` begins after the opening brace, and `places` has the range of each enumerator there, with its comma. An
    enumerator without its own value needs all enumerators from the last one that has a value. An enumerator with a
    value needs those that the value names. The result is empty if the text does not tell the value: after a directive,
    or after a macro that may expand to enumerators. It is also empty under a condition, because enumerators are shown
    without it.
    """
    result: list[AbstractSet[int]] = []
    number_of: dict[str, int] = {}
    reached = 0
    for number, (start, end) in enumerate(places):
        code, gap = _ASIDE.sub(" ", text[start:end]), _ASIDE.sub(" ", text[reached:start])
        name, has_value, value = code.partition("=")
        if len(_OPENS.findall(text, 0, start)) > len(_CLOSES.findall(text, 0, start)):
            result.append(_NOBODY)
        elif has_value:
            others = [number_of[word] for word in _WORD.findall(value) if word in number_of]
            is_known = all(result[other] for other in others)
            result.append(frozenset({number}).union(*(result[other] for other in others)) if is_known else _NOBODY)
        elif gap.strip(" \t\r\n,"):
            result.append(_NOBODY)
        else:
            before = result[-1] if result else frozenset({number})
            result.append(before | {number} if before else _NOBODY)
        number_of.update((word, number) for word in _WORD.findall(name))
        reached = end
    return result
