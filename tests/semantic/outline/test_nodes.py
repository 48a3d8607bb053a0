from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.semantic.outline.nodes import EMPTY, Node, Outline, Role

_NODES = st.lists(
    st.builds(
        Node,
        start=st.integers(0, 9),
        end=st.integers(0, 9),
        role=st.sampled_from(Role),
        depth=st.integers(0, 3),
        name=st.sampled_from(["", "a::f", "é"]),
        usr=st.integers(0, 2**64 - 1),
        definition=st.booleans(),
        kind=st.integers(0, 1023),
    ),
    max_size=8,
)


@given(_NODES)
def test_an_outline_returns_its_nodes_with_python_types(nodes: list[Node]) -> None:
    outline = Outline.of(nodes)
    assert list(outline) == nodes == [outline[number] for number in range(len(outline))]
    for given_, node in zip(nodes, outline, strict=True):
        assert list(map(type, node)) == list(map(type, given_))


@given(_NODES, _NODES)
def test_outlines_can_be_concatenated_and_sliced(first: list[Node], second: list[Node]) -> None:
    joined = Outline.of(first).joined(Outline.of(second))
    assert list(joined) == first + second
    functions = [node for node in first + second if node.role is Role.FUNCTION]
    assert list(joined.take(joined.role == Role.FUNCTION)) == functions
    assert list(joined.take(np.arange(len(joined))[::-1])) == (first + second)[::-1]


@given(_NODES)
def test_pre_order_is_by_start_then_the_longer_then_the_less_deep_and_keeps_equal_ones(nodes: list[Node]) -> None:
    expected = sorted(nodes, key=lambda node: (node.start, -node.end, node.depth))
    assert list(Outline.of(nodes).in_order()) == expected


def test_an_empty_file_has_an_outline() -> None:
    assert list(EMPTY) == list(EMPTY.in_order()) == list(EMPTY.joined(EMPTY)) == []
