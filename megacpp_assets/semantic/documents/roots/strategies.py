"""Which roots share a document. A strategy is a function from the roots of a repository to groups of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count, groupby
from operator import itemgetter
from typing import Final

from megacpp_assets.semantic.documents.roots.clusters import GroupSizes, clusters
from megacpp_assets.semantic.graph.repository import PlacedRoot, Repository

Strategy = Callable[[Repository, Sequence[PlacedRoot], Sequence[int], GroupSizes], list[list[int]]]
"""(repository, roots in file order, characters of each, how many a group may have) -> groups in file order, of the
numbers of roots."""


def per_chunk(_: Repository, roots: Sequence[PlacedRoot], __: Sequence[int], ___: GroupSizes) -> list[list[int]]:
    """Every root has a document of its own (docs/contracts.md)."""
    return [[number] for number in range(len(roots))]


def by_file(_: Repository, roots: Sequence[PlacedRoot], sizes: Sequence[int], limits: GroupSizes) -> list[list[int]]:
    """Group the roots of each file; a file has several groups if they are too long for one document."""
    groups: list[list[int]] = []
    files = (root.file for root in roots)
    for _file, members in groupby(zip(files, count(), sizes, strict=False), key=itemgetter(0)):
        reached = limits.most
        for _file, number, size in members:
            if reached + size > limits.most:
                groups.append([])
                reached = 0
            groups[-1].append(number)
            reached += size
    return groups


STRATEGIES: Final[dict[str, Strategy]] = {"per_chunk": per_chunk, "clustered": clusters, "file": by_file}
