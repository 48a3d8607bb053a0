"""Chunks of the rows of a Megatron artifact by row number, read on demand from the packed rows behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.loader.chunks import CHUNK_COLUMNS, ChunkBatch, chunk_batch
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.parquet import open_parquet

_KEPT_GROUPS = 4
"""Row groups that are kept decoded: their document ids are as many as their tokens."""


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """The chunks of one split, whose row r is row r of `open_rows`. `starts` is the first row of each row group."""

    row_tokens: int
    starts: NDArray[np.int64]
    group: Callable[[int], pa.Table]

    def __len__(self) -> int:
        return int(self.starts[-1])

    def batch(self, rows: NDArray[np.int64]) -> ChunkBatch:
        """The chunks of the rows numbered `rows`, in that order. Raises IndexError beyond the last."""
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < len(self):
            raise IndexError(f"rows {rows.tolist()}; expected numbers from 0 to {len(self) - 1}")
        groups = np.searchsorted(self.starts, rows, side="right") - 1
        lines = [self.group(int(g)).slice(int(row - self.starts[g]), 1) for g, row in zip(groups, rows, strict=True)]
        return chunk_batch(pa.concat_tables(lines), self.row_tokens)


def open_chunks(artifact: Artifact, split: str = TRAIN_SPLIT) -> ChunkRows:
    """The chunks of `split` of a Megatron artifact. Only the shards' footers are read.

    `LineageGap` where the packed rows that it was made from are no longer there or changed, or have no such split.
    """
    (made_from,) = artifact.manifest.inputs
    packed = open_artifact(artifact.root, made_from.path)
    if packed.manifest.sha256 != made_from.manifest_sha256:
        found = packed.manifest.sha256
        expected = f"manifest {made_from.manifest_sha256}, from which {artifact.path} was made"
        raise LineageGap(made_from.path, expected=expected, found=found, do="rerun megatron_bin_idx")
    places: list[tuple[Path, int]] = []
    counts = [0]
    for shard in packed.files(".parquet", f"{split}_"):
        with open_parquet(shard) as file:
            for number in range(file.num_row_groups):
                places.append((shard, number))
                counts.append(file.metadata.row_group(number).num_rows)
    if not places:
        raise LineageGap(packed.path, expected=f"rows of {split}", found="none", do="name a split that has rows")

    @lru_cache(maxsize=_KEPT_GROUPS)
    def group(number: int) -> pa.Table:
        shard, place = places[number]
        with open_parquet(shard) as file:
            return file.read_row_group(place, columns=list(CHUNK_COLUMNS))

    return ChunkRows(int(packed.manifest.config["row_tokens"]), np.cumsum(counts, dtype=np.int64), group)
