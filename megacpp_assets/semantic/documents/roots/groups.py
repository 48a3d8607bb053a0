"""The roots of each document, before it is composed: a group of roots, or a part of one root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from megacpp_assets.semantic.documents.roots.parts import RootPart
from megacpp_assets.semantic.graph.repository import PlacedRoot


class Groups(Sequence[list[PlacedRoot]]):
    """Groups of `roots` by their numbers, which take less memory than the roots, and parts of roots."""

    def __init__(self, roots: Sequence[PlacedRoot], numbers: Sequence[Sequence[int] | RootPart]) -> None:
        self._roots = roots
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return Groups(self._roots, self._numbers[number])
        found = self._numbers[number]
        return [found] if isinstance(found, RootPart) else [self._roots[each] for each in found]


def with_parts(
    groups: Sequence[Sequence[int]], parts: Sequence[Sequence[RootPart]]
) -> Sequence[Sequence[int] | RootPart]:
    """Return `groups` with the `parts` of each that has some in its place."""
    found: list[Sequence[int] | RootPart] = []
    for group, cut in zip(groups, parts, strict=True):
        found.extend(cut)
        found.extend(() if cut else [group])
    return found
