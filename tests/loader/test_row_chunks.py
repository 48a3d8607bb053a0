"""Chunks by row number, of the very rows that the tokens come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.names import SPLITS, TRAIN_SPLIT
from megacpp_assets.loader.chunks import ChunkBatch, chunk_relation_mask
from megacpp_assets.loader.rows import open_rows
from megacpp_assets.megatron.sidecars.chunks import EDGES, VALUES
from megacpp_assets.megatron.stage import run
from megacpp_assets.storage.artifact import Artifact, open_artifact
from tests.megatron.pairs import megatron_spec
from tests.packed.enriched_documents import DATASET


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return run(megatron_spec(tmp_path_factory.mktemp("root")))


def chunks_of(artifact: Artifact, rows: NDArray[np.int64], split: str = TRAIN_SPLIT) -> ChunkBatch:
    found = open_rows(artifact, DATASET, split, chunks=True).batch(rows).chunks
    assert found is not None
    return found


@pytest.mark.parametrize("split", SPLITS)
def test_a_row_has_the_chunks_of_the_packed_row_that_its_tokens_are_of(made: Artifact, split: str) -> None:
    rows = open_rows(made, DATASET, split)
    packed = open_artifact(made.root, made.manifest.inputs[0].path)
    table = pa.concat_tables([pq.read_table(file) for file in packed.files(".parquet", f"{split}_")])
    assert len(rows) == table.num_rows
    chosen = np.random.default_rng(1).permutation(len(rows))
    found = chunks_of(made, chosen, split)
    assert table["input_ids"].take(chosen).to_pylist() == rows.batch(chosen).input_ids.tolist()
    taken = table.take(chosen)
    for name, (column, _) in VALUES.items():
        slots = getattr(found, name)
        assert [row[:count].tolist() for row, count in zip(slots, found.valid.sum(axis=1), strict=True)] == taken[
            column
        ].to_pylist()
    for name, column in (("calls", EDGES["call_edges"]), ("types", EDGES["type_edges"])):
        edges = [[n, e["from"], e["to"]] for n, row in enumerate(taken[column].to_pylist()) for e in row]
        assert getattr(found, name).tolist() == edges
    places = zip(found.valid, found.starts, found.documents, taken["doc_ids"].to_pylist(), strict=True)
    for valid, starts, documents, doc_ids in places:
        assert documents[valid].tolist() == [doc_ids[start] for start in starts[valid]]
        assert (documents[~valid] == -1).all()
    assert found.valid.any()
    assert chunk_relation_mask(found).shape == (len(rows), 9, *[found.starts.shape[1]] * 2)


@pytest.mark.parametrize("row", [-1, 10**6])
def test_a_row_that_does_not_exist_is_rejected(made: Artifact, row: int) -> None:
    with pytest.raises(IndexError, match="from 0"):
        chunks_of(made, np.array([row]))


def test_chunks_are_read_where_the_packed_rows_are_not(tmp_path: Path) -> None:
    artifact = run(megatron_spec(tmp_path))
    (tmp_path / artifact.manifest.inputs[0].path / "_COMPLETE").unlink()
    assert chunks_of(artifact, np.arange(2)).valid.any()


def test_a_missing_file_of_chunks_is_named(tmp_path: Path) -> None:
    artifact = run(megatron_spec(tmp_path))
    artifact.file(f"{DATASET}_train.chunks.kinds.bin").unlink()
    with pytest.raises(LineageGap, match=r"chunks\.kinds\.bin"):
        open_rows(artifact, DATASET, chunks=True)
