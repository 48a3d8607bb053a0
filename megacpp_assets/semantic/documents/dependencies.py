"""Which other chunks a document brings along: the nearest transitive callees and types that fit its budget.

Breadth first from the root over call and type edges. What is too much is dropped farthest first, and at one distance
highest level first, so that what the root itself uses stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from megacpp_assets.semantic.documents.repository import Repository

SEPARATOR_CHARS = 2
Unit = tuple[int, int]
"""Range of chunk numbers: one chunk, or a class with its methods; contiguous in its file."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What dependencies may take: characters, chunks, and edges from the root."""

    chars: int
    chunks: int
    depth: int


def dependencies(repository: Repository, root: Unit, budget: Budget) -> list[Unit]:
    """Units in the order they stand in the document: ascending level, then path and offset; none overlap."""
    chosen: set[Unit] = set()
    seen: set[Unit] = {root}
    frontier: Iterable[int] = range(*root)
    chars, chunks = budget.chars, budget.chunks
    for _ in range(budget.depth):
        layer = _layer(repository, frontier, root, seen)
        reached: list[int] = []
        for unit in layer:
            if _holder(repository, unit) in chosen:
                continue
            inner = [other for other in chosen if unit[0] <= other[0] < unit[1]] if _length(unit) > 1 else []
            cost = _chars(repository, unit) - sum(_chars(repository, other) for other in inner)
            extra = _length(unit) - sum(map(_length, inner))
            if cost <= chars and extra <= chunks:
                chosen.difference_update(inner)
                chosen.add(unit)
                chars, chunks = chars - cost, chunks - extra
                reached.extend(_spread(repository, unit))
        frontier = reached
        if not reached or chars <= 0 or chunks <= 0:
            break
    return sorted(chosen, key=lambda unit: (repository.unit_level(unit), unit))


def _layer(repository: Repository, frontier: Iterable[int], root: Unit, seen: set[Unit]) -> list[Unit]:
    """Units one edge away that were not met before, nearest levels first."""
    layer: list[Unit] = []
    for node in frontier:
        for target, _, _ in repository.out[node]:
            unit = repository.nodes[target].unit
            if unit not in seen and not root[0] <= target < root[1]:
                seen.add(unit)
                layer.append(unit)
    return sorted(layer, key=lambda unit: (repository.unit_level(unit), unit))


def _holder(repository: Repository, unit: Unit) -> Unit:
    return repository.nodes[unit[0]].root


def _spread(repository: Repository, unit: Unit) -> list[int]:
    """Chunks of a unit whose own dependencies are followed: a class's declarations, not its inline methods."""
    return [node for node in range(*unit) if repository.nodes[node].unit == unit]


def _chars(repository: Repository, unit: Unit) -> int:
    return repository.nodes[unit[1] - 1].char_end - repository.nodes[unit[0]].char_start + SEPARATOR_CHARS


def _length(unit: Unit) -> int:
    return unit[1] - unit[0]
