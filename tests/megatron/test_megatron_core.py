"""Megatron Core itself on our files: it reads the same documents, and its builder writes the same bytes.

megatron-core is a required test dependency (`pip install --no-deps megatron-core==0.16.1`): its absence is a failure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from megacpp_assets.contract.megatron_files import BIN, IDX, prefix_name
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.contract.schemas import MEGATRON_DOCUMENTS
from megacpp_assets.megatron.pair.reader import open_bin_idx
from megacpp_assets.megatron.stage import run
from tests.megatron.pairs import megatron_spec, part, write_pair
from tests.packed.enriched_documents import DATASET


@pytest.mark.parametrize("mmap", [True, False])
def test_indexed_dataset_reads_the_documents_that_were_written(
    tmp_path: Path, indexed_dataset: Any, mmap: bool
) -> None:
    lengths = [5, 1, 300, 64, 2]
    tokens = write_pair(tmp_path / "x", lengths)
    # Kept by name: a view of a document outlives its map otherwise, and the process with it.
    dataset = indexed_dataset.IndexedDataset(str(tmp_path / "x"), mmap=mmap)
    assert len(dataset) == len(lengths)
    assert dataset.sequence_lengths.tolist() == lengths
    assert dataset.document_indices.tolist() == list(range(len(lengths) + 1))
    ends = np.cumsum(lengths)
    for index, end in enumerate(ends):
        assert dataset[index].tolist() == tokens[end - lengths[index] : end].tolist()


def test_indexed_dataset_builder_writes_the_same_bytes(tmp_path: Path, indexed_dataset: Any) -> None:
    lengths = np.random.default_rng(3).integers(1, 400, 700).tolist()
    tokens = write_pair(tmp_path / "ours", lengths)
    builder = indexed_dataset.IndexedDatasetBuilder(str(part(tmp_path / "theirs", BIN)), dtype=np.int32)
    for document in np.split(tokens.astype(np.int32), np.cumsum(lengths)[:-1]):
        builder.add_document(document, [len(document)])
    builder.finalize(str(part(tmp_path / "theirs", IDX)))
    for suffix in (BIN, IDX):
        assert part(tmp_path / "ours", suffix).read_bytes() == part(tmp_path / "theirs", suffix).read_bytes()


def test_our_reader_reads_what_their_builder_writes(tmp_path: Path, indexed_dataset: Any) -> None:
    prefix = tmp_path / "theirs"
    builder = indexed_dataset.IndexedDatasetBuilder(str(part(prefix, BIN)), dtype=np.uint16)
    for document in ([2, 70, 65_499], [2], [2, 9]):
        builder.add_document(document, [len(document)])
    builder.finalize(str(part(prefix, IDX)))
    data = open_bin_idx(prefix)
    assert data.header.dtype == np.uint16
    assert [data.document(index).tolist() for index in range(3)] == [[2, 70, 65_499], [2], [2, 9]]


def test_both_splits_of_the_stage_open_in_megatron(tmp_path: Path, indexed_dataset: Any) -> None:
    import pyarrow.parquet as pq

    artifact = run(megatron_spec(tmp_path))
    for split in SPLITS:
        prefix = artifact.directory / prefix_name(DATASET, split)
        dataset, data = indexed_dataset.IndexedDataset(str(prefix)), open_bin_idx(prefix)
        table = pq.read_table(part(prefix, ".documents.parquet"))
        assert table.schema == MEGATRON_DOCUMENTS
        assert dataset.sequence_lengths.tolist() == table["tokens"].to_pylist()
        assert all(np.array_equal(dataset[i], data.document(i)) for i in range(len(dataset)))
        assert dataset.index.dtype == np.int32
