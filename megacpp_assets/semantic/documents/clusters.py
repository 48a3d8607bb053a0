"""Groups roots that belong together, up to a bounded size: by the edges between them, then by their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from megacpp_assets.semantic.documents.items import DEFINES
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository

_NEIGHBOUR = 0.25
"""The weight of two roots that are neighbours in a file. A call of a function that nobody else calls weighs 1."""
_SMALL = 4
"""A group is small if it has at most this fraction of the maximum: four or more small ones fill the end of a row."""


@dataclass(frozen=True, slots=True)
class GroupSizes:
    """The maximum number of characters of a group, and the share of all characters that stays in small groups.

    Without small groups nothing would fit into the rest of a row behind a long document.
    """

    most: int
    small_share: float = 0.0


def clusters(
    repository: Repository, roots: Sequence[PlacedRoot], sizes: Sequence[int], limits: GroupSizes
) -> list[list[PlacedRoot]]:
    """Return `roots`, of `sizes` characters, in groups within `limits`. A larger root is a group of its own.

    Pairs are joined in the order of their weight: their edges divided by the square root of the product of all edges of
    both. So a root that everything uses joins nothing in particular. Then neighbours of one file are joined while they
    fit. Groups, and the roots in them, are in file order, as `roots` are.
    """
    union = _Union(sizes, limits, [_defined(repository, place) for place in roots])
    for first, second in _by_weight(_weights(repository, roots)):
        union.join(first, second)
    groups: dict[int, list[int]] = {}
    for number in range(len(roots)):
        groups.setdefault(union.find(number), []).append(number)
    return [
        [roots[number] for number in group]
        for group in union.filled(list(groups.values()), [place.file for place in roots])
    ]


def _weights(repository: Repository, roots: Sequence[PlacedRoot]) -> dict[tuple[int, int], float]:
    number_of = {node: number for number, place in enumerate(roots) for node in range(*place.unit)}
    pairs: Counter[tuple[int, int]] = Counter()
    for source, target in zip(repository.edges.source.tolist(), repository.edges.target.tolist(), strict=True):
        first, second = number_of.get(source, -1), number_of.get(target, -1)
        if first >= 0 and second >= 0 and first != second:
            pairs[min(first, second), max(first, second)] += 1
    degree: Counter[int] = Counter()
    for (first, second), count in pairs.items():
        degree[first] += count
        degree[second] += count
    weights = {pair: count / (degree[pair[0]] * degree[pair[1]]) ** 0.5 for pair, count in pairs.items()}
    for first, second in pairwise(range(len(roots))):
        if roots[first].file == roots[second].file:
            weights[first, second] = weights.get((first, second), 0.0) + _NEIGHBOUR
    return weights


def _by_weight(weights: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    return sorted(weights, key=lambda pair: (-weights[pair], pair))


class _Union:
    """Groups of numbers. Two are joined only if the result is within `limits` and defines nothing twice."""

    def __init__(self, sizes: Sequence[int], limits: GroupSizes, defined: Sequence[set[str]]) -> None:
        self._parent = list(range(len(sizes)))
        self._sizes = list(sizes)
        self._defined = list(defined)
        self._most = limits.most
        self._to_spare = sum(map(self._if_small, sizes)) - int(limits.small_share * sum(sizes))
        """The number of characters that may still leave small groups."""

    def find(self, number: int) -> int:
        """Return the smallest number in the group of `number`."""
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number

    def join(self, first: int, second: int) -> None:
        """Join two groups if the result is within the limit and enough characters stay in small groups."""
        first, second = sorted((self.find(first), self.find(second)))
        if first != second and self._may_join(first, second):
            self._to_spare -= self._taken(first, second)
            self._parent[second] = first
            self._sizes[first] += self._sizes[second]
            self._defined[first] |= self._defined[second]

    def _may_join(self, first: int, second: int) -> bool:
        fits = self._sizes[first] + self._sizes[second] <= self._most
        taken = self._taken(first, second)
        return fits and taken <= max(0, self._to_spare) and self._defined[first].isdisjoint(self._defined[second])

    def _taken(self, first: int, second: int) -> int:
        """Return the number of characters that would leave small groups if these two were joined."""
        one, other = self._sizes[first], self._sizes[second]
        return self._if_small(one) + self._if_small(other) - self._if_small(one + other)

    def _if_small(self, size: int) -> int:
        return size if size <= self._most // _SMALL else 0

    def filled(self, groups: Sequence[list[int]], files: Sequence[int]) -> list[list[int]]:
        """Return the groups with neighbours joined where the limits allow it and both meet in one file."""
        result: list[list[int]] = []
        for group in groups:
            same = bool(result) and files[result[-1][-1]] == files[group[0]]
            if same and self._may_join(self.find(result[-1][0]), self.find(group[0])):
                self.join(result[-1][0], group[0])
                result[-1] = sorted([*result[-1], *group])
            else:
                result.append(group)
        return result


def _defined(repository: Repository, place: PlacedRoot) -> set[str]:
    """Return the names that a document may define only once under the same conditions.

    They are signatures or heads with their namespace, the program's `main`, and macros.
    """
    node, text = repository.nodes[place.unit[0]], repository.files[place.file].source.text
    conditions = repository.directives.around(place.file, place.span.start, place.span.end)
    under = " ".join(line for condition in conditions for line in condition.says)
    if node.signature is None:
        found = DEFINES.findall(text[place.span.char_start : place.span.char_end])
        return {f"{under} #define {name}" for name in found}
    if node.chunk.name == "main":
        return {f"{under} main"}
    signature = text[node.signature.char_start : node.signature.char_end]
    return {" ".join([under, *(space.name for space in place.spaces), *signature.split()])}
