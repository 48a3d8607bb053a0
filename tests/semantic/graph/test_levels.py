from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.graph.levels import dependency_levels, leaves

_NODES = 7
_EDGES = st.lists(st.tuples(st.integers(0, _NODES - 1), st.integers(0, _NODES - 1)), max_size=20)


def _arrays(edges: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _slow_levels(edges: list[tuple[int, int]]) -> list[int]:
    """Reachability by repeated squaring of a set; a component's level from its members' outer successors."""
    reach = {node: {node} for node in range(_NODES)}
    for _ in range(_NODES):
        for source, target in edges:
            reach[source] |= reach[target]
    component = {node: frozenset(o for o in reach[node] if node in reach[o]) for node in range(_NODES)}

    def level(node: int) -> int:
        outer = {t for s, t in edges if component[s] == component[node] and component[t] != component[node]}
        return 1 + max(map(level, outer)) if outer else 0

    return [level(node) for node in range(_NODES)]


@given(_EDGES)
def test_levels_equal_those_of_the_definition(edges: list[tuple[int, int]]) -> None:
    assert dependency_levels(_NODES, *_arrays(edges)).tolist() == _slow_levels(edges)


@given(_EDGES, st.integers(0, 1000))
def test_levels_do_not_depend_on_the_order_of_edges(edges: list[tuple[int, int]], seed: int) -> None:
    shuffled = random.Random(seed).sample(edges, len(edges))
    assert (dependency_levels(_NODES, *_arrays(edges)) == dependency_levels(_NODES, *_arrays(shuffled))).all()


def test_a_cycle_without_an_exit_has_level_zero_and_no_leaf() -> None:
    source, target = _arrays([(0, 1), (1, 0), (2, 0), (3, 3)])
    assert dependency_levels(4, source, target).tolist() == [0, 0, 1, 0]
    assert leaves(4, source, target).tolist() == [False, False, False, True]


def test_a_long_chain_needs_no_recursion() -> None:
    nodes = 50_000
    source = np.arange(nodes - 1)
    assert dependency_levels(nodes, source, source + 1)[0] == nodes - 1


def test_malformed_graph_columns_are_rejected() -> None:
    for offsets, targets in (
        ((), ()),
        ((1, 1), (0,)),
        ((0, 2, 1), (0, 0)),
        ((0, 1), (1,)),
        ((0, 1), (-1,)),
        ((0, 2), (0,)),
    ):
        with pytest.raises(ValueError, match=r"ascend|no node"):
            _visitor.dependency_levels(np.array(offsets, np.int64), np.array(targets, np.int64))


def test_a_graph_without_nodes_has_no_levels() -> None:
    assert dependency_levels(0, *_arrays([])).tolist() == []
