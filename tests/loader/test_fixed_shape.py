"""The work for a batch of a fixed shape, compared with what is stored: calls and bytes, which no other process changes.

The time beside a plain loader is measured by `benchmarks/loader.py`.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, open_rows
from tests.loader.rows_artifact import DATASET, publish_rows, random_rows

STORED = Path(__file__).with_name("fixed_shape.json")
"""Calls and peak bytes of a batch. Change it in the commit that changes the loader's work."""
ROW_TOKENS, ROWS, BATCH_ROWS = 2048, 64, 4
RISE = 0.2
"""A batch may take at most this share more of either."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> PackedRows:
    made = publish_rows(tmp_path_factory.mktemp("root"), random_rows(rows=ROWS, row_tokens=ROW_TOKENS), ROW_TOKENS)
    opened = open_rows(made, DATASET, chunks=True, platforms=True)
    batch(opened)  # maps files and fills caches
    return opened


def batch(rows: PackedRows) -> object:
    return rows.batch(rows_of_step(ROWS, BATCH_ROWS, seed=0, step=0))


def calls_of(work: Callable[[], object]) -> int:
    """The number of calls of functions, of Python and of C, during `work`."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def peak_bytes_of(work: Callable[[], object]) -> int:
    """The most memory that `work` held at once, arrays of numpy included."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def within(found: int, stored: int) -> bool:
    return found <= stored * (1 + RISE)


def test_a_batch_takes_no_more_calls_and_memory_than_is_stored(rows: PackedRows) -> None:
    stored = json.loads(STORED.read_text())
    calls, peak_bytes = calls_of(lambda: batch(rows)), peak_bytes_of(lambda: batch(rows))
    print(json.dumps({"B": BATCH_ROWS, "T": ROW_TOKENS, "calls": calls, "peak_bytes": peak_bytes}))
    assert within(calls, stored["calls"]), f"a batch takes {calls} calls; {stored['calls']} are stored"
    assert within(peak_bytes, stored["peak_bytes"]), f"a batch takes {peak_bytes} B; {stored['peak_bytes']} are stored"


def test_work_for_each_row_would_be_seen(rows: PackedRows) -> None:
    stored = json.loads(STORED.read_text())

    def row_by_row() -> None:
        for row in rows_of_step(ROWS, BATCH_ROWS, seed=0, step=0):
            rows.batch([row])

    assert not within(calls_of(row_by_row), stored["calls"])
