"""Dependency levels of a directed graph: condense its cycles, leaves are level 0, else 1 + the highest successor.

`dep_level_def = scc-max-v1` (CONTRACTS.md 14). Iterative; the result does not depend on the order of nodes or edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def successors(nodes: int, source: Ints, target: Ints) -> tuple[Ints, Ints]:
    """Compressed rows: the targets of node i are `targets[offsets[i]:offsets[i + 1]]`, ascending."""
    order = np.lexsort((target, source))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=nodes)[:nodes]))).astype(np.int64)
    return offsets, target[order]


def leaves(nodes: int, source: Ints, target: Ints) -> NDArray[np.bool_]:
    """True for nodes without an edge to another node."""
    result = np.ones(nodes, dtype=bool)
    result[source[source != target]] = False
    return result


def dependency_levels(nodes: int, source: Ints, target: Ints) -> Ints:
    """Level of each node. Tarjan's algorithm finishes a component after all it depends on, so one pass suffices."""
    other = source != target
    offset_array, target_array = successors(nodes, source[other], target[other])
    walk = _Tarjan(offset_array.tolist(), target_array.tolist())
    for node in range(nodes):
        if walk.number[node] == 0:
            walk.visit(node)
    return np.array(walk.level, dtype=np.int64)


class _Tarjan:
    """State of one walk: `number` is the order of discovery (0: not seen), `level` the answer (-1: not known yet)."""

    def __init__(self, offsets: list[int], targets: list[int]) -> None:
        self.offsets, self.targets = offsets, targets
        nodes = len(offsets) - 1
        self.number = [0] * nodes
        self.low = [0] * nodes
        self.level = [-1] * nodes
        self.open: list[int] = []
        self.count = 0

    def visit(self, root: int) -> None:
        """Walk everything reachable from `root` that was not seen before."""
        path = [self._discover(root)]
        while path:
            node, edge = path[-1]
            if edge < self.offsets[node + 1]:
                path[-1] = (node, edge + 1)
                self._follow(node, self.targets[edge], path)
            else:
                path.pop()
                if self.low[node] == self.number[node]:
                    self._close(node)
                if path:
                    parent = path[-1][0]
                    self.low[parent] = min(self.low[parent], self.low[node])

    def _discover(self, node: int) -> tuple[int, int]:
        self.count += 1
        self.number[node] = self.low[node] = self.count
        self.open.append(node)
        return node, self.offsets[node]

    def _follow(self, node: int, target: int, path: list[tuple[int, int]]) -> None:
        if self.number[target] == 0:
            path.append(self._discover(target))
        elif self.level[target] < 0:
            self.low[node] = min(self.low[node], self.number[target])

    def _close(self, root: int) -> None:
        """The component of `root` is complete: everything opened since; all its outer successors have levels."""
        at = len(self.open) - 1
        while self.open[at] != root:
            at -= 1
        members = self.open[at:]
        del self.open[at:]
        reached = -1
        for member in members:
            for target in self.targets[self.offsets[member] : self.offsets[member + 1]]:
                reached = max(reached, self.level[target])
        for member in members:
            self.level[member] = reached + 1
