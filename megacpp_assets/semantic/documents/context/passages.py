"""The text of roots, whose uses decide what context a document needs.

In: chunks, or a part of a root. Out: what this text names and uses. A part of a root uses what its own text names, and
what the parser links to chunks of it that no text of the root names, such as constructors. Its own text includes the
head of the class or function, which is shown above the part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from megacpp_assets.semantic.documents.items.items import Item, Items
from megacpp_assets.semantic.documents.items.members import Members
from megacpp_assets.semantic.documents.items.mentions import Mentions
from megacpp_assets.semantic.documents.items.recent import FILES, recent
from megacpp_assets.semantic.documents.items.words import WORD, without_comments
from megacpp_assets.semantic.documents.roots.parts import RootPart
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository

_NESTED = re.compile(r"\s*+(?:template\b[^{;]*?)?(?:struct|class|union)\b")
_BODY = re.compile(r"\)[^;{}()]*+\{")


class Passage(NamedTuple):
    """Chunks, a range of their numbers, or of them only the characters [start, end) if they are a part of a root.

    `begun` is where the member of a class begins in which the part begins, or where the part begins.
    """

    unit: Item
    start: int = -1
    end: int = -1
    begun: int = -1

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a root."""
        return self.end >= 0


def passage_of(place: PlacedRoot) -> Passage:
    """Return the text of a root or of a part of one."""
    if not isinstance(place, RootPart):
        return Passage(place.unit)
    inner = place.opened[1:2]
    begun = inner[0].char_start if inner else place.span.char_start
    return Passage(place.chunks, place.span.char_start, place.span.char_end, begun)


def bodies_in(members: Members, item: Item) -> Mapping[int, Sequence[Passage]]:
    """Return the members of a class that are shown with bodies, by their numbers: functions that return `auto`, and
    classes with functions."""
    found: dict[int, Sequence[Passage]] = {}
    excerpt = members.of(item)
    for number, member in enumerate(excerpt.members if excerpt else ()):
        text = "" if member.closing else members.text(item, member.span)
        if text.endswith("}") if member.called else _has_bodies(text):
            _, _, start, end = member.span
            chunks = members.chunks(item, [number])
            found[number] = [Passage((chunk, chunk + 1), start, end, start) for chunk in chunks]
    return found


def _has_bodies(text: str) -> bool:
    """Return whether the text of a member is a class with functions that are defined there."""
    return "{" in text and _NESTED.match(without_comments(text)) is not None and _BODY.search(text) is not None


class Passages:
    """What passages of one repository use."""

    def __init__(self, repository: Repository, items: Items, mentions: Mentions) -> None:
        self._repository = repository
        self._items = items
        self._mentions = mentions
        self._targets = recent(self._targets_of, FILES)

    def text(self, passage: Passage) -> str:
        """Return the text of a passage. That of a part of a variable has what is in front of its brace, as its type."""
        if not passage.is_part:
            return self._items.text(passage.unit)
        first = self._repository.nodes[passage.unit[0]]
        text = self._repository.files[first.file].source.text[passage.start : passage.end]
        if first.chunk.kind != "other" or passage.start <= first.char_start:
            return text
        return self._items.text(self._items.of[passage.unit[0]]).partition("{")[0] + text

    def targets(self, passage: Passage) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield each chunk of a passage with the chunks that the text there uses."""
        if passage.is_part:
            yield from self._targets(passage)
        else:
            yield from ((number, self._items.used(number)) for number in range(*passage.unit))

    def _targets_of(self, passage: Passage) -> list[tuple[int, Sequence[int]]]:
        item = self._items.of[passage.unit[0]]
        text = self.text(passage)
        words = {*WORD.findall(text), *WORD.findall(self._items.head_text(item))}
        numbers = dict.fromkeys((item[0], *range(*passage.unit)))
        return [(number, self._items.named_by(words, self._items.used(number), text)) for number in numbers]

    def used(self, passage: Passage) -> Mapping[int, int]:
        """Return the entities that a passage names and does not declare, each with how often."""
        if not passage.is_part:
            return self._mentions.used(passage.unit)
        return self._mentions.used_in(self._repository.nodes[passage.unit[0]].file, passage.start, passage.end)

    def wanted(self, passage: Passage) -> Counter[int]:
        """Return the entities that a passage uses, each with how often.

        Constructors and conversions are among them, which have no name there.
        """
        used = self.used(passage)
        wanted = Counter(used)
        linked = self._mentions.linked(passage.unit) - used.keys()
        wanted.update(linked - self._mentions.used(passage.unit).keys() if passage.is_part else linked)
        return wanted
