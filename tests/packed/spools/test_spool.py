"""Spooling enriched parquet: the same values whatever the shards, and a refusal for everything packing relies on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.packed.spools.spool import Spool
from megacpp_assets.packed.spools.spooling import spool_documents
from tests.packed.enriched_documents import ABSEIL, FMT, documents, table_of

RECORDS = documents(FMT, 12, seed=1, longest=90)


def _write(path: Path, table: pa.Table, row_group_size: int = 1024) -> Path:
    pq.write_table(table, path, row_group_size=row_group_size)
    return path


def _values(spool: Spool, group: str, column: str) -> list[list[int]]:
    return [spool.groups[group].take(column, np.array([index])).tolist() for index in range(spool.documents)]


def test_a_spool_holds_what_the_shards_held_in_source_order(tmp_path: Path) -> None:
    other = documents(ABSEIL, 3, seed=5, longest=40)
    shards = [_write(tmp_path / "a", table_of(RECORDS[:5]), 2), _write(tmp_path / "b", table_of(RECORDS[5:]))]
    spool = spool_documents([shards, [_write(tmp_path / "c", table_of(other))]], tmp_path / "spool")
    records = [*RECORDS, *other]
    everything = np.arange(len(records))
    assert spool.boundaries.tolist() == [0, 12, 15]
    assert spool.strings(c.DOC_ID, everything).to_pylist() == [record[c.DOC_ID] for record in records]
    assert spool.strings(c.REPO, everything[::-1]).to_pylist() == [record[c.REPO] for record in records[::-1]]
    for name in (c.TOKEN_IDS_COLUMN, *c.TOKEN_METADATA_COLUMNS):
        assert _values(spool, c.TOKEN_IDS_COLUMN, name) == [record[name] for record in records]
    for name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_KINDS_COLUMN):
        assert _values(spool, c.TOKEN_CHUNK_STARTS_COLUMN, name) == [record[name] for record in records]
    for end in ("from", "to"):
        found = _values(spool, c.TOKEN_CALL_EDGES_COLUMN, end)
        assert found == [[edge[end] for edge in record[c.TOKEN_CALL_EDGES_COLUMN]] for record in records]
    assert spool.name(13) == f"document {ABSEIL.name}:{other[1][c.DOC_ID]}"


def test_positions_pick_documents_in_any_order_and_more_than_once(tmp_path: Path) -> None:
    spool = spool_documents([[_write(tmp_path / "a", table_of(RECORDS))]], tmp_path / "spool")
    picked = np.array([7, 2, 7])
    found = spool.tokens.take(c.TOKEN_IDS_COLUMN, picked).tolist()
    assert found == [token for index in picked for token in RECORDS[index][c.TOKEN_IDS_COLUMN]]


def test_a_shard_without_documents_adds_none(tmp_path: Path) -> None:
    spool = spool_documents([[_write(tmp_path / "a", table_of([]))], []], tmp_path / "spool")
    assert (spool.documents, spool.boundaries.tolist()) == (0, [0, 0, 0])


def _second_bos(record: dict[str, Any]) -> None:
    record[c.TOKEN_IDS_COLUMN] = [*record[c.TOKEN_IDS_COLUMN][:-1], BOS_ID]


def _no_bos(record: dict[str, Any]) -> None:
    record[c.TOKEN_IDS_COLUMN] = [46, *record[c.TOKEN_IDS_COLUMN][1:]]


def _empty(record: dict[str, Any]) -> None:
    for name in (c.TOKEN_IDS_COLUMN, *c.TOKEN_METADATA_COLUMNS):
        record[name] = []


def _short_column(record: dict[str, Any]) -> None:
    record[c.TOKEN_DEP_LEVELS_COLUMN] = record[c.TOKEN_DEP_LEVELS_COLUMN][:-1]


def _chunk_outside(record: dict[str, Any]) -> None:
    record[c.TOKEN_CHUNK_ENDS_COLUMN] = [*record[c.TOKEN_CHUNK_ENDS_COLUMN][:-1], record[c.ACTUAL_TOKEN_COUNT] + 1]


def _lost_end(record: dict[str, Any]) -> None:
    record[c.TOKEN_CHUNK_ENDS_COLUMN] = record[c.TOKEN_CHUNK_ENDS_COLUMN][:-1]


def _edge_outside(record: dict[str, Any]) -> None:
    record[c.TOKEN_TYPE_EDGES_COLUMN] = [{"from": 0, "to": len(record[c.TOKEN_CHUNK_STARTS_COLUMN])}]


def _null(record: dict[str, Any]) -> None:
    record[c.TOKEN_DEP_LEVELS_COLUMN] = None


@pytest.mark.parametrize(
    ("plant", "rule"),
    [
        (_second_bos, "no second BOS"),
        (_no_bos, "BOS as its first token"),
        (_empty, "at least one token"),
        (_short_column, f"{c.TOKEN_DEP_LEVELS_COLUMN} as long as {c.TOKEN_IDS_COLUMN}"),
        (_chunk_outside, "chunk spans inside its tokens"),
        (_lost_end, f"{c.TOKEN_CHUNK_ENDS_COLUMN} as long as {c.TOKEN_CHUNK_STARTS_COLUMN}"),
        (_edge_outside, f"{c.TOKEN_TYPE_EDGES_COLUMN} between its own chunks"),
        (_null, "no nulls"),
    ],
)
def test_a_document_that_breaks_a_rule_is_rejected(
    tmp_path: Path, plant: Callable[[dict[str, Any]], None], rule: str
) -> None:
    records = [dict(record) for record in RECORDS]
    plant(records[4])
    with pytest.raises(SchemaViolation, match=rule) as caught:
        spool_documents([[_write(tmp_path / "shard", table_of(records))]], tmp_path / "spool")
    assert rule == "no nulls" or f"document {records[4][c.DOC_ID]}" in str(caught.value)


def test_a_shard_without_a_required_column_is_rejected(tmp_path: Path) -> None:
    file = _write(tmp_path / "shard", table_of(RECORDS).drop_columns([c.TOKEN_AST_DEPTH_COLUMN]))
    with pytest.raises(SchemaViolation, match=f"column {c.TOKEN_AST_DEPTH_COLUMN}.*no such column"):
        spool_documents([[file]], tmp_path / "spool")


def test_a_column_of_another_type_is_rejected(tmp_path: Path) -> None:
    table = table_of(RECORDS)
    index = table.schema.get_field_index(c.TOKEN_IDS_COLUMN)
    wide = table.set_column(index, c.TOKEN_IDS_COLUMN, table[c.TOKEN_IDS_COLUMN].cast(pa.list_(pa.int64())))
    with pytest.raises(SchemaViolation, match=f"column {c.TOKEN_IDS_COLUMN}.*uint32"):
        spool_documents([[_write(tmp_path / "shard", wide)]], tmp_path / "spool")
