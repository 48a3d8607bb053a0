"""Batches whose documents are for platforms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from megacpp_assets.contract.names import fixed_max_chunks
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS, PLATFORM_IDS
from megacpp_assets.loader.rows import RowBatch


def with_platforms(batch: RowBatch, seed: int = 0) -> RowBatch:
    """`batch` with up to four platforms for each document."""
    rng = np.random.default_rng(seed)
    rows, row_tokens = batch.doc_ids.shape
    platforms = np.zeros((rows, fixed_max_chunks(row_tokens), MAX_PLATFORM_IDS), np.int32)
    for row, last in zip(platforms, batch.doc_ids[:, -1], strict=True):
        for document in row[: last + 1]:
            chosen = np.unique(rng.integers(1, PLATFORM_IDS, rng.integers(0, 5)))
            document[: len(chosen)] = chosen
    return replace(batch, platforms=platforms)
