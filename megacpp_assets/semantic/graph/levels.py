"""Dependency levels of a directed graph. Cycles are condensed; a leaf has level 0, others 1 + their highest successor.

`dep_level_def = scc-max-v1` (docs/contracts.md). The result does not depend on the order of nodes or edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.semantic import _visitor

Ints = NDArray[np.int64]


def successors(nodes: int, source: Ints, target: Ints) -> tuple[Ints, Ints]:
    """Return (offsets, targets): the targets of node i are `targets[offsets[i]:offsets[i + 1]]`, ascending."""
    order = np.lexsort((target, source))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=nodes)[:nodes]))).astype(np.int64)
    return offsets, target[order]


def leaves(nodes: int, source: Ints, target: Ints) -> NDArray[np.bool_]:
    """Return for each node whether it has no edge to another node."""
    result = np.ones(nodes, dtype=bool)
    result[source[source != target]] = False
    return result


def dependency_levels(nodes: int, source: Ints, target: Ints) -> Ints:
    """Return the level of each node."""
    other = source != target
    return _visitor.dependency_levels(*successors(nodes, source[other], target[other]))
