"""Tests of the files of token parquet: shards of fixed size, the validation side, order, stable bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.schemas import TOKENIZED
from megacpp_assets.storage.publish import Publication
from megacpp_assets.tokenized.encode import tokenize
from megacpp_assets.tokenized.records import documents_table
from megacpp_assets.tokenized.shards import ShardWriter
from megacpp_assets.tokenized.split import DocumentLimits
from tests.tokenized.documents import record
from tests.tokenized.word_encoder import WordEncoder

TABLE = tokenize(
    documents_table([record(f"d{index:02d}", f"int x{index};") for index in range(23)]),
    WordEncoder(),
    DocumentLimits(64, 128),
).table
VALIDATION = np.arange(23) % 10 == 3


def shards(directory: Path, batches: Sequence[slice], shard_documents: int = 8) -> Publication:
    publication = Publication(directory)
    with ShardWriter(publication, 4096, shard_documents) as writer:
        for batch in batches:
            writer.write(TABLE.slice(batch.start, batch.stop - batch.start), VALIDATION[batch])
    return publication


def ids(directory: Path, name: str) -> list[str]:
    return pq.read_table(directory / "4096" / name)[c.DOC_ID].to_pylist()


def test_training_shards_are_full_but_the_last_and_keep_the_order(tmp_path: Path) -> None:
    publication = shards(tmp_path, [slice(0, 23)])
    train = [f"d{index:02d}" for index in range(23) if index % 10 != 3]
    assert [ids(tmp_path, f"shard_{shard:05d}.parquet") for shard in range(3)] == [train[:8], train[8:16], train[16:]]
    assert ids(tmp_path, c.VAL_SHARD) == ["d03", "d13"]
    assert {entry.name.removeprefix("4096/"): entry.rows for entry in publication.entries} == {
        "shard_00000.parquet": 8, "shard_00001.parquet": 8, "shard_00002.parquet": 5, c.VAL_SHARD: 2,
    }  # fmt: skip


def test_bytes_do_not_depend_on_how_rows_arrive(tmp_path: Path) -> None:
    at_once = shards(tmp_path / "a", [slice(0, 23)])
    in_parts = shards(tmp_path / "b", [slice(0, 5), slice(5, 6), slice(6, 23)])
    assert sorted(at_once.entries, key=str) == sorted(in_parts.entries, key=str)


def test_without_documents_both_splits_have_empty_files(tmp_path: Path) -> None:
    shards(tmp_path, [])
    for name in ("shard_00000.parquet", c.VAL_SHARD):
        assert pq.read_table(tmp_path / "4096" / name).schema == TOKENIZED
        assert ids(tmp_path, name) == []


def test_a_failure_while_writing_names_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="disk full"), ShardWriter(Publication(tmp_path), 4096) as writer:
        writer.write(TABLE, VALIDATION)
        raise OSError("disk full")
    assert not list(tmp_path.rglob("*.parquet"))
