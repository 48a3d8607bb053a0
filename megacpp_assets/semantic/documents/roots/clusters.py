"""Groups roots that belong together, up to a bounded size: by the edges between them, then by their place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic.commands.modules import module_places
from megacpp_assets.semantic.documents.items.items import DEFINES
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository

_NEIGHBOUR = 0.25
"""The weight of two roots that are neighbours in a file. A call of a function that nobody else calls weighs 1."""
_AT_ONCE = 1 << 12
_C = "c"
_NOTHING: frozenset[int] = frozenset()
Ints = NDArray[np.int64]
_EXTERN = re.compile(r"\bextern\b")
_NAMED_BEHIND = re.compile(r"\}[ \t]*([A-Za-z_]\w*)[ \t]*;?\Z")
"""The name that a typedef gives to a class or an enumeration."""
_SMALL = 4
"""A group is small if it has at most this fraction of the maximum: four or more small ones fill the end of a row."""


@dataclass(frozen=True, slots=True)
class GroupSizes:
    """The maximum number of characters of a group, and the share of all characters that stays in small groups.

    Without small groups, nothing would fit into the rest of a row after a long document.
    """

    most: int
    small_share: float = 0.0


def clusters(
    repository: Repository, roots: Sequence[PlacedRoot], sizes: Sequence[int], limits: GroupSizes
) -> list[list[int]]:
    """Return the numbers of `roots`, of `sizes` characters, in groups within `limits`.

    A larger root is a group of its own.
    Pairs are joined in the order of their weight: their edges divided by the square root of the product of all edges of
    both. So a root that everything uses joins nothing in particular. Then neighbours of one file are joined while they
    fit. Groups, and the roots in them, are in file order, as `roots` are.
    """
    places = [(place.file, *place.unit) for place in roots]
    languages = _languages(repository, roots)
    defined = [
        _numbered(_defined(repository, place, in_c=language == _C))
        for place, language in zip(roots, languages, strict=True)
    ]
    union = _Union(sizes, limits, defined, languages)
    pairs, weights = _weights(repository, np.array(places, dtype=np.int64).reshape(-1, 3))
    for first, second in _by_weight(pairs, weights, len(roots)):
        union.join(first, second)
    groups: dict[int, list[int]] = {}
    for number in range(len(roots)):
        groups.setdefault(union.find(number), []).append(number)
    return union.filled(list(groups.values()), [file for file, _, _ in places])


def _weights(repository: Repository, places: Ints) -> tuple[Ints, NDArray[np.float64]]:
    """Return the pairs of roots, each as one number (first * roots + second), and their weights.

    `places` has the file and the range of chunks of each root.
    """
    count, (file, starts, ends) = len(places), places.T
    number_of = np.full(len(repository.nodes), -1, dtype=np.int64)
    number_of[_ranges(starts, ends)] = np.repeat(np.arange(count), ends - starts)
    one, other = number_of[repository.edges.source], number_of[repository.edges.target]
    joins = (one >= 0) & (other >= 0) & (one != other)
    pairs = np.minimum(one, other)[joins] * count + np.maximum(one, other)[joins]
    pairs, edges = np.unique(pairs, return_counts=True)
    first, second = np.divmod(pairs, max(count, 1))
    degree = np.bincount(first, edges, count) + np.bincount(second, edges, count)
    products, which = np.unique((degree[first] * degree[second]).astype(np.int64), return_inverse=True)
    # Python's power, not numpy's square root: the last bit differs for some products, and decides which pair is first.
    weights = edges / np.array([product**0.5 for product in products.tolist()], dtype=np.float64)[which]
    neighbours = np.flatnonzero(file[1:] == file[:-1])
    every, which = np.unique(np.concatenate([pairs, neighbours * count + neighbours + 1]), return_inverse=True)
    summed = np.zeros(len(every))
    summed[which[: len(pairs)]] = weights
    summed[which[len(pairs) :]] += _NEIGHBOUR
    return every, summed


def _ranges(starts: Ints, ends: Ints) -> Ints:
    """Return the numbers of all ranges [start, end), one range after another."""
    lengths = ends - starts
    shifts = starts - np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(starts) else starts
    return np.repeat(shifts, lengths) + np.arange(int(lengths.sum()))


def _by_weight(pairs: Ints, weights: NDArray[np.float64], roots: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs, those with the largest weight first, then in their order."""
    ordered = pairs[np.lexsort((pairs, -weights))]
    for start in range(0, len(ordered), _AT_ONCE):
        yield from (divmod(pair, roots) for pair in ordered[start : start + _AT_ONCE].tolist())


def _numbered(names: set[str]) -> frozenset[int] | None:
    """Return `names` as hashes of 64 bits, which take less memory; None for no names."""
    return frozenset(map(_number, names)) if names else None


def _number(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _languages(repository: Repository, roots: Sequence[PlacedRoot]) -> list[str]:
    """Return the language as which the file of each root was parsed. A unit of a module, or one that imports a module,
    is a language of its own: no other text compiles with it. A file whose lines about modules all stand under a
    condition keeps its plain language."""
    known: dict[int, str] = {}
    for place in roots:
        if place.file not in known:
            facts = repository.files[place.file]
            standard = facts.parsed.standard
            language = facts.file.language if not standard else "c++" if "++" in standard else _C
            places = module_places(facts.source.data) if language != _C else ()
            is_module = any(not repository.directives.around(place.file, at) for at in places)
            known[place.file] = f"{language} of the modules of file {place.file}" if is_module else language
    return [known[place.file] for place in roots]


class _Union:
    """Groups of numbers. Two are joined only if the result is within `limits`, defines nothing twice and has one
    language: a test in C of a library in C++ compiles only as C."""

    def __init__(
        self,
        sizes: Sequence[int],
        limits: GroupSizes,
        defined: Sequence[frozenset[int] | None],
        languages: Sequence[str],
    ) -> None:
        self._languages = languages
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
            self._defined[first] = (self._defined[first] or _NOTHING) | (self._defined[second] or _NOTHING)
            self._defined[second] = None

    def _may_join(self, first: int, second: int) -> bool:
        fits = self._sizes[first] + self._sizes[second] <= self._most
        taken = self._taken(first, second)
        one, other = self._defined[first], self._defined[second]
        if self._languages[first] != self._languages[second]:
            return False
        return fits and taken <= max(0, self._to_spare) and (not one or not other or one.isdisjoint(other))

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


def _defined(repository: Repository, place: PlacedRoot, *, in_c: bool) -> set[str]:
    """Return the names that a document may define only once under the same conditions.

    They are signatures or heads with their namespace, the program's `main`, variables and macros. In C, which has no
    overloads, the name of a function is enough.
    """
    node, text = repository.nodes[place.unit[0]], repository.files[place.file].source.text
    conditions = repository.directives.around(place.file, place.span.start)
    under = " ".join(line for condition in conditions for line in condition.says)
    if node.signature is None:
        macros = DEFINES.findall(text[place.span.char_start : place.span.char_end])
        nodes = [repository.nodes[number] for number in range(*place.unit)]
        variables = [
            each.chunk.name
            for each in nodes
            if each.chunk.kind == "other" and not _EXTERN.search(text[each.char_start : each.char_end])
        ]
        classes = [
            " ".join(text[each.signature.char_start : each.signature.char_end].split())
            for each in nodes
            if each.signature and each.chunk.kind == "class_decl"
        ]
        typedefs = [
            f"typedef {behind[1]}"
            for each in nodes
            if each.chunk.kind == "class_decl"
            and (behind := _NAMED_BEHIND.search(text, each.char_start, each.char_end))
        ]
        named = (f"{under} {name}" for name in (*variables, *classes, *typedefs) if name)
        return {*(f"{under} #define {name}" for name in macros), *named}
    if node.chunk.name == "main" or (in_c and node.chunk.kind == "func_body"):
        return {f"{under} {node.chunk.name}"}
    signature = text[node.signature.char_start : node.signature.char_end]
    return {" ".join([under, *(space.name for space in place.spaces), *signature.split()])}
