"""Chunks at a fixed width and their relations, against a twin that asks pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.megatron_files import CHUNK_ROWS
from megacpp_assets.loader.chunks import RELATIONS, ChunkBatch, chunk_batch, chunk_relation_mask, token_chunk_ids
from megacpp_assets.megatron.sidecars.chunks import VALUES, ChunkFiles

T = 24
Chunk = tuple[int, int, int, int]
"""Start, end, kind, level of dependence."""


def batch_of(rows: list[dict[str, Any]]) -> ChunkBatch:
    """The chunks of rows of T tokens."""
    flat = np.array([chunk for row in rows for chunk in row["chunks"]], np.int64).reshape(-1, 4)
    parts = zip(VALUES.items(), flat.T, strict=True)
    files = {CHUNK_ROWS: _offsets(rows, "chunks")}
    files |= {part: values.astype(dtype) for (part, (_, dtype)), values in parts}
    for part, name in (("call_edges", "calls"), ("type_edges", "types")):
        files[f"{part}.{CHUNK_ROWS}"] = _offsets(rows, name)
        files[part] = np.array([edge for row in rows for edge in row[name]], "<u2").reshape(-1, 2)
    doc_ids = np.array([row["docs"] for row in rows], np.int32)
    return chunk_batch(ChunkFiles(files), np.arange(len(rows)), doc_ids)


def _offsets(rows: list[dict[str, Any]], name: str) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(row[name]) for row in rows)])


@st.composite
def a_row(draw: st.DrawFn) -> dict[str, Any]:
    cuts = sorted(draw(st.sets(st.integers(0, T), max_size=10)))
    chunks = [
        (a, b, draw(st.integers(0, 8)), draw(st.integers(0, 3))) for a, b in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    for i, following in enumerate(chunks[1:]):
        if draw(st.booleans()):  # the token that ends this chunk begins the next
            chunks[i] = (chunks[i][0], following[0] + 1, *chunks[i][2:])
    border = draw(st.integers(0, T))
    some = st.integers(0, max(0, len(chunks) - 1))
    edges = st.lists(st.tuples(some, some), max_size=4 if chunks else 0)
    return {"docs": [int(t >= border) for t in range(T)], "chunks": chunks, "calls": draw(edges), "types": draw(edges)}


def slow_relations(row: dict[str, Any], i: int, j: int) -> set[str]:
    """All that chunk i is to chunk j."""
    (start, _, kind, level), (other, _, other_kind, other_level) = row["chunks"][i], row["chunks"][j]
    if row["docs"][start] != row["docs"][other]:
        return set()
    holds = {
        "same_chunk": i == j,
        "caller_to_callee": (i, j) in row["calls"],
        "callee_to_caller": (j, i) in row["calls"],
        "type_dependency": (i, j) in row["types"],
        "type_dependent": (j, i) in row["types"],
        "same_dep_level": level == other_level,
        "adjacent_dep_level": abs(level - other_level) == 1,
        "preamble_to_code": kind == 1 and other_kind != 1,
        "code_to_preamble": kind != 1 and other_kind == 1,
    }
    return {name for name, value in holds.items() if value}


@given(rows=st.lists(a_row(), min_size=1, max_size=3))
def test_the_mask_has_each_relation_of_each_pair_and_nothing_else(rows: list[dict[str, Any]]) -> None:
    chunks = batch_of(rows)
    mask = chunk_relation_mask(chunks)
    assert mask.shape == (len(rows), 9, 128, 128)
    found = {
        (b, i, j): set()
        for b, row in enumerate(rows)
        for i in range(len(row["chunks"]))
        for j in range(len(row["chunks"]))
    }
    for b, r, i, j in np.argwhere(mask).tolist():
        found[b, i, j].add(RELATIONS[r])
    assert found == {(b, i, j): slow_relations(rows[b], i, j) for b, i, j in found}
    for b, row in enumerate(rows):
        slots = [chunks.starts, chunks.ends, chunks.kinds, chunks.dep_levels, chunks.documents]
        held = [[*chunk, row["docs"][chunk[0]]] for chunk in row["chunks"]]
        rest = [[0, 0, 0, 0, -1]] * (128 - len(held))
        assert np.array([part[b] for part in slots]).T.tolist() == held + rest


@given(rows=st.lists(a_row(), min_size=1, max_size=3))
def test_each_token_knows_its_chunk(rows: list[dict[str, Any]]) -> None:
    chunks = batch_of(rows)
    ids, valid = token_chunk_ids(chunks)
    for b, row in enumerate(rows):
        holders = [[i for i, (a, e, *_) in enumerate(row["chunks"]) if a <= t < e] for t in range(T)]
        assert valid[b].tolist() == [bool(holder) for holder in holders]
        assert ids[b].tolist() == [holder[-1] if holder else 0 for holder in holders]
    assert chunks.valid.sum(axis=1).tolist() == [len(row["chunks"]) for row in rows]


def row(chunks: list[Chunk], calls: list[tuple[int, int]] | None = None) -> dict[str, Any]:
    return {"docs": [0] * T, "chunks": chunks, "calls": calls or [], "types": []}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row([(0, 5, 2, 0), (3, 8, 2, 0)]), "in ascending order"),
        (row([(0, 5, 2, 0), (0, 1, 2, 0)]), "in ascending order"),
        (row([(3, 3, 2, 0)]), "in ascending order"),
        (row([(0, T + 1, 2, 0)]), "in ascending order"),
        (row([(0, 5, 2, 0)], [(0, 1)]), "0 to 1 in a row of 1"),
        (row([], [(0, 0)]), "0 to 0 in a row of 0"),
        (row([(0, 5, 2, 0)] * 129), "at most 128 chunks"),
    ],
)
def test_chunks_that_contradict_their_row_are_rejected(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaViolation, match=message):
        batch_of([bad])
