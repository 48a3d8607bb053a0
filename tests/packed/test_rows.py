"""Gathering rows: equal to the token-by-token twin in every column, at full rows and at padded ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.schemas import PACKED
from megacpp_assets.packed.rows import RowBlock, RowBuffers, gather_rows
from megacpp_assets.packed.spools.spool import Spool
from megacpp_assets.packed.spools.spooling import spool_documents
from tests.packed.enriched_documents import FMT, document, documents, table_of
from tests.packed.slow_packer import pack_row

ROW_TOKENS = 128
RECORDS = [
    *documents(FMT, 8, seed=3, longest=60),
    document(FMT, "full", tokens=ROW_TOKENS, chunks=4, seed=1),
    document(FMT, "bos-only", tokens=1, chunks=0, seed=2),
    document(FMT, "no-chunks", tokens=9, chunks=0, seed=3),
]


def _spool(folder: Path) -> Spool:
    pq.write_table(table_of(RECORDS), folder / "shard")
    return spool_documents([[folder / "shard"]], folder / "spool")


def _block(rows: list[list[int]], first_row: int = 0) -> RowBlock:
    documents_of_rows = np.array([index for row in rows for index in row], dtype=np.int64)
    return RowBlock(first_row, documents_of_rows, np.cumsum([0, *map(len, rows)]))


def _fitting_rows(order: list[int]) -> list[list[int]]:
    rows: list[list[int]] = [[]]
    for index in order:
        used = sum(RECORDS[other][c.ACTUAL_TOKEN_COUNT] for other in rows[-1])
        if used + RECORDS[index][c.ACTUAL_TOKEN_COUNT] > ROW_TOKENS:
            rows.append([])
        rows[-1].append(index)
    return [row for row in rows if row]


def test_rows_equal_the_token_by_token_twin(tmp_path: Path) -> None:
    spool, room = _spool(tmp_path), RowBuffers(20, ROW_TOKENS)

    @given(st.lists(st.integers(0, len(RECORDS) - 1), min_size=1, max_size=20), st.integers(0, 10**6))
    @settings(max_examples=40)
    def equal(order: list[int], first_row: int) -> None:
        rows = _fitting_rows(order)
        table = gather_rows(spool, _block(rows, first_row), room)
        expected = [
            pack_row(first_row + number, [RECORDS[index] for index in row], ROW_TOKENS)
            for number, row in enumerate(rows)
        ]
        assert table.schema == PACKED
        assert table.to_pylist() == [{name: row[name] for name in PACKED.names} for row in expected]

    equal()


def test_a_row_of_one_whole_document_has_no_pads_and_trains_all_but_its_last_token(tmp_path: Path) -> None:
    row = gather_rows(_spool(tmp_path), _block([[8]]), RowBuffers(1, ROW_TOKENS)).to_pylist()[0]
    assert (row[c.VALID_TOKEN_COUNT], row[c.SLACK_TOKENS], row[c.TRAINED_TOKEN_COUNT]) == (
        ROW_TOKENS,
        0,
        ROW_TOKENS - 1,
    )
    assert row[c.TARGET_IDS][-1] == 0 and row[c.LOSS_MASK][-1] == 0


def test_a_document_of_bos_alone_trains_nothing_and_pads_carry_its_id(tmp_path: Path) -> None:
    row = gather_rows(_spool(tmp_path), _block([[9]]), RowBuffers(1, ROW_TOKENS)).to_pylist()[0]
    assert (row[c.NUM_DOCS], row[c.TRAINED_TOKEN_COUNT]) == (1, 0)
    assert set(row[c.DOC_IDS]) == {0} and set(row[c.TOKEN_AST_DEPTH_COLUMN][1:]) == {-1}
