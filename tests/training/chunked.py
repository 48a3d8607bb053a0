"""Batches with chunks: each document cut into stretches that relate at random within it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from megacpp_assets.contract.megatron_files import CHUNK_ROWS
from megacpp_assets.loader.chunks import ChunkBatch, chunk_batch
from megacpp_assets.loader.rows import RowBatch
from megacpp_assets.megatron.sidecars.chunks import VALUES, ChunkFiles


def with_chunks(batch: RowBatch, seed: int = 0) -> RowBatch:
    """`batch` with chunks of one to six tokens; some tokens between them are in none."""
    return replace(batch, chunks=_chunks(batch, np.random.default_rng(seed)))


def _chunks(batch: RowBatch, rng: np.random.Generator) -> ChunkBatch:
    values: dict[str, list[int]] = {name: [] for name in VALUES}
    edges: dict[str, list[tuple[int, int]]] = {"call_edges": [], "type_edges": []}
    counts, edge_counts = [0], {name: [0] for name in edges}
    for row, valid in zip(batch.doc_ids, batch.valid_token_count.tolist(), strict=True):
        documents, place = [], 0
        while place < valid:
            document = int(row[place])
            end = min(place + int(rng.integers(1, 7)), valid)
            end = place + int((row[place:end] == document).sum())
            for name, value in (
                ("starts", place),
                ("ends", end),
                ("kinds", rng.integers(3)),
                ("dep_levels", rng.integers(3)),
            ):
                values[name].append(int(value))
            documents.append(document)
            place = end + int(rng.integers(0, 2))
        pairs = [(i, j) for i, one in enumerate(documents) for j, two in enumerate(documents) if one == two and i != j]
        for name, found in edges.items():
            found += [pair for pair in pairs if rng.random() < 0.2]
            edge_counts[name].append(len(found))
        counts.append(len(values["starts"]))
    files = {CHUNK_ROWS: np.array(counts, np.int64)}
    files |= {name: np.array(values[name], dtype) for name, (_, dtype) in VALUES.items()}
    for name, pairs in edges.items():
        files[f"{name}.{CHUNK_ROWS}"] = np.array(edge_counts[name], np.int64)
        files[name] = np.array(pairs, np.uint16).reshape(-1, 2)
    return chunk_batch(ChunkFiles(files), np.arange(len(batch.doc_ids)), batch.doc_ids)
