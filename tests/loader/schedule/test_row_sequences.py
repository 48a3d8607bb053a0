"""A row that is cut into documents and packed again has the same tokens, channels, chunks, relations and platforms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from megacpp_assets.contract.columns import CHANGE_CHANNELS, SIDE_CHANNELS, SYMBOL_CHANNELS
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.loader.chunks import chunk_relation_mask
from megacpp_assets.loader.rows import RowBatch, open_rows
from megacpp_assets.loader.schedule.data_schedule_utils import Sample, build_packed_microbatches
from megacpp_assets.loader.schedule.packed_batch import PackedBatch, PackedSeqParams
from megacpp_assets.loader.schedule.row_chunks import CHUNK_TABLES
from megacpp_assets.loader.schedule.row_sequences import PLATFORMS, channels_of, row_of, sequences_of
from megacpp_assets.loader.schedule.tables import unpacked_tables
from megacpp_assets.megatron.stage import run
from tests.megatron.pairs import megatron_spec
from tests.packed.enriched_documents import DATASET
from tests.training.chunked import with_chunks
from tests.training.platformed import with_platforms
from tests.training.world import batch_of


def packed_again(samples: list[Sample], row_tokens: int) -> RowBatch:
    """The row of a microbatch that has all of `samples`."""
    lengths = [{"original_seq_len": torch.tensor(len(sample["tokens"]))} for sample in samples]
    grouped = [dict(sample) | length for sample, length in zip(samples, lengths, strict=True)]
    (packed,) = build_packed_microbatches([grouped])
    starts, longest = packed["cu_seqlens_padded"], int(packed["max_seqlen"])
    params = PackedSeqParams(starts, starts, starts, starts, longest, longest)
    columns = {name: packed[name][None] for name in ("tokens", "labels", "loss_mask", "position_ids")}
    tables = unpacked_tables(packed, (*CHUNK_TABLES, PLATFORMS))
    channels = {name: packed[name][None] for name in SIDE_CHANNELS if name in packed}
    batch = PackedBatch(attention_mask=None, packed_seq_params=params, channels=channels, tables=tables, **columns)
    return row_of(batch, row_tokens)


def assert_same(row: RowBatch, batch: RowBatch) -> None:
    """Assert that `row` is `batch`, which has one row."""
    for name in ("input_ids", "target_ids", "loss_mask", "doc_ids", "segment_ids", "roles", "platforms"):
        assert np.array_equal(getattr(row, name), getattr(batch, name)), name
    for group in ("structure", "symbols", "changes"):
        found, expected = getattr(row, group), getattr(batch, group)
        assert list(found) == list(expected)
        for name, values in expected.items():
            assert found[name].dtype == values.dtype and np.array_equal(found[name], values), name
    assert row.chunks is not None and batch.chunks is not None
    assert np.array_equal(row.chunks.slots, batch.chunks.slots)
    assert np.array_equal(chunk_relation_mask(row.chunks), chunk_relation_mask(batch.chunks))


def test_rows_of_an_artifact_are_the_same_after_a_round_trip(tmp_path: Path) -> None:
    rows = open_rows(run(megatron_spec(tmp_path)), DATASET, symbols=True, changes=True, chunks=True, platforms=True)
    assert set(channels_of(rows)) == set(SIDE_CHANNELS)
    for number in range(len(rows)):
        batch = rows.batch([number])
        assert_same(packed_again(sequences_of(batch), rows.row_tokens), batch)


def test_channels_that_are_not_open_do_not_travel(tmp_path: Path) -> None:
    rows = open_rows(run(megatron_spec(tmp_path)), DATASET, chunks=True, platforms=True)
    row = packed_again(sequences_of(rows.batch([0])), rows.row_tokens)
    assert not row.changes and not row.symbols
    assert not channels_of(rows).keys() & (CHANGE_CHANNELS.keys() | SYMBOL_CHANNELS.keys())


@pytest.mark.parametrize("seed", range(10))
def test_documents_of_several_rows_keep_their_own_chunks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    documents = [[[2, *rng.integers(46, 99, rng.integers(1, 14)).tolist()] for _ in range(4)] for _ in range(3)]
    batch = with_platforms(with_chunks(batch_of(*documents, row_tokens=64, structure_seed=seed), seed), seed)
    samples = sequences_of(batch)
    for line in range(3):
        row = packed_again(samples[4 * line : 4 * line + 4], 64)
        assert batch.chunks is not None and row.chunks is not None and batch.platforms is not None
        assert np.array_equal(row.chunks.slots[:, 0], batch.chunks.slots[:, line])
        assert np.array_equal(chunk_relation_mask(row.chunks)[0], chunk_relation_mask(batch.chunks)[line])
        assert row.platforms is not None and np.array_equal(row.platforms[0], batch.platforms[line])


def test_a_chunk_that_begins_before_its_document_is_rejected() -> None:
    batch = with_chunks(batch_of([[2, 50, 51], [2, 60, 61]], row_tokens=16))
    assert batch.chunks is not None
    batch.chunks.slots[4][batch.chunks.valid] = 1
    with pytest.raises(SchemaViolation, match="chunks; expected chunks within their documents; found -3"):
        sequences_of(batch)
