"""Chunks of the rows of a Megatron artifact by row number, read on demand from the sidecars of its prefix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.loader.chunks import ChunkBatch, chunk_batch
from megacpp_assets.loader.rows import PackedRows, open_rows
from megacpp_assets.megatron.chunk_sidecars import ChunkFiles
from megacpp_assets.storage.artifact import Artifact


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """The chunks of one split, whose row r is row r of `rows`."""

    rows: PackedRows
    files: ChunkFiles

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, rows: NDArray[np.int64], doc_ids: NDArray[np.int32] | None = None) -> ChunkBatch:
        """The chunks of the rows numbered `rows`, in that order; `doc_ids` are those of the batch of these rows, where
        it is there already.

        Raises IndexError beyond the last, and `SchemaViolation` for chunks that are not those of such rows.
        """
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < len(self):
            raise IndexError(f"rows {rows.tolist()}; expected numbers from 0 to {len(self) - 1}")
        return chunk_batch(self.files.lists(rows), self.rows.doc_ids(rows) if doc_ids is None else doc_ids)


def open_chunks(artifact: Artifact, dataset: str, split: str = TRAIN_SPLIT) -> ChunkRows:
    """Map the chunks of `split` of a Megatron artifact; nothing but sizes is read.

    Raises `LineageGap` for a file that is not the manifest's, and `IndexCorrupt` where one has another size than the
    record of the sidecars says.
    """
    rows = open_rows(artifact, dataset, split, chunks=True)
    assert rows.chunk_files is not None
    return ChunkRows(rows, rows.chunk_files)
