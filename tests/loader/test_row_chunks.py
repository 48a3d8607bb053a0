"""Chunks by row number, of the very rows that the tokens come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.loader.chunks import CHUNK_COLUMNS, chunk_batch, chunk_relation_mask
from megacpp_assets.loader.row_chunks import open_chunks
from megacpp_assets.loader.rows import open_rows
from megacpp_assets.megatron.stage import run
from megacpp_assets.storage.artifact import Artifact, open_artifact
from tests.megatron.pairs import megatron_spec
from tests.packed.enriched_documents import DATASET


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return run(megatron_spec(tmp_path_factory.mktemp("root")))


@pytest.mark.parametrize("split", SPLITS)
def test_a_row_has_the_chunks_of_the_packed_row_that_its_tokens_are_of(made: Artifact, split: str) -> None:
    rows, chunks = open_rows(made, DATASET, split), open_chunks(made, DATASET, split)
    packed = open_artifact(made.root, made.manifest.inputs[0].path)
    table = pa.concat_tables([pq.read_table(file) for file in packed.files(".parquet", f"{split}_")])
    assert len(rows) == len(chunks) == table.num_rows
    chosen = np.random.default_rng(1).permutation(len(chunks))
    found = chunks.batch(chosen)
    assert table["input_ids"].take(chosen).to_pylist() == rows.batch(chosen).input_ids.tolist()
    expected = chunk_batch(table.select(list(CHUNK_COLUMNS)).take(chosen), rows.row_tokens)
    for name in ("starts", "ends", "kinds", "dep_levels", "documents", "calls", "types"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert found.valid.any()
    assert chunk_relation_mask(found).shape == (len(chunks), 9, *[found.starts.shape[1]] * 2)


@pytest.mark.parametrize("row", [-1, 10**6])
def test_a_row_that_does_not_exist_is_refused(made: Artifact, row: int) -> None:
    with pytest.raises(IndexError, match="from 0"):
        open_chunks(made, DATASET).batch(np.array([row]))


def test_chunks_are_read_where_the_packed_rows_are_not(tmp_path: Path) -> None:
    artifact = run(megatron_spec(tmp_path))
    (tmp_path / artifact.manifest.inputs[0].path / "_COMPLETE").unlink()
    assert open_chunks(artifact, DATASET).batch(np.arange(2)).valid.any()


def test_a_file_of_chunks_that_is_gone_is_named(tmp_path: Path) -> None:
    artifact = run(megatron_spec(tmp_path))
    artifact.file(f"{DATASET}_train.chunks.kinds.bin").unlink()
    with pytest.raises(LineageGap, match=r"chunks\.kinds\.bin"):
        open_chunks(artifact, DATASET)
