"""A trie as flat arrays in breadth-first order: form v3 of seed 004, which the kernels walk."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def flatten(tokens: Iterable[tuple[bytes, int]]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return (nodes, edges) of the trie of (bytes, id) pairs.

    `nodes` (n, 3) has the first edge, the number of edges and the id + 1 (0: none) of each node; node 0 is the root.
    `edges` (m, 2) has the byte and the child. The edges of a node are consecutive, sorted by byte.
    """
    ids = dict(tokens)
    prefixes = sorted({text[:end] for text in ids for end in range(len(text) + 1)} | {b""}, key=lambda t: (len(t), t))
    numbers = {text: number for number, text in enumerate(prefixes)}
    parents = np.array([numbers[text[:-1]] for text in prefixes[1:]], dtype=np.int64)
    count = np.bincount(parents, minlength=len(prefixes))
    ends = [ids.get(text, -1) + 1 for text in prefixes]
    nodes = np.stack([np.cumsum(count) - count, count, ends], axis=1)
    edges = np.stack([[text[-1] for text in prefixes[1:]], range(1, len(prefixes))], axis=1)
    return nodes.astype(np.uint32), edges.astype(np.uint32)
