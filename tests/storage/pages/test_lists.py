"""Tests of lists of integers read from the pages of their columns, held to what Arrow reads."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.storage.pages.lists import ListReader
from tests.storage.mutation import mutated

TYPES = (pa.uint8(), pa.uint16(), pa.uint32(), pa.int32())
FORMS: tuple[dict[str, Any], ...] = (
    {"use_dictionary": True},
    {"use_dictionary": False, "column_encoding": {"v.list.element": "PLAIN"}},
    {"use_dictionary": False, "column_encoding": {"v.list.element": "DELTA_BINARY_PACKED"}},
    {"use_dictionary": False, "column_encoding": {"v.list.element": "BYTE_STREAM_SPLIT"}},
    {"use_dictionary": True, "dictionary_pagesize_limit": 64},  # the first pages with a dictionary, the others plain
)


def columns(path: Path) -> list[pa.ListArray | None]:
    """The column `v` of each row group."""
    with pq.ParquetFile(path) as file, path.open("rb") as pages:
        reader = ListReader(file, pages.fileno())
        return [reader.read(group, "v") for group in range(file.num_row_groups)]


def lists_of(kind: pa.DataType, runs: list[list[tuple[int, int]]]) -> pa.ListArray:
    """Lists that are made of runs: (value, how often)."""
    info = np.iinfo(kind.to_pandas_dtype())
    values = [np.repeat([n % (info.max + 1) for n, _ in row], [times for _, times in row]) for row in runs]
    return pa.array([row.astype(np.int64) for row in values], pa.list_(kind))


RUNS = st.lists(
    st.lists(st.tuples(st.one_of(st.integers(0, 3), st.integers(0, 2**32)), st.integers(0, 70)), max_size=6),
    max_size=30,
)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(TYPES),
    RUNS,
    st.sampled_from(FORMS),
    st.sampled_from(["zstd", "none"]),
    st.sampled_from([16, 1 << 20]),
    st.sampled_from([1, 7, 1024]),
)
def test_lists_are_those_that_arrow_reads(
    tmp_path_factory: pytest.TempPathFactory,
    kind: pa.DataType,
    runs: list[list[tuple[int, int]]],
    form: dict[str, Any],
    compression: str,
    page: int,
    group: int,
) -> None:
    path = tmp_path_factory.mktemp("lists") / "file"
    written = pa.table({"v": lists_of(kind, runs)})
    pq.write_table(
        written, path, compression=compression, data_page_size=page, row_group_size=group, write_page_checksum=True,
        write_batch_size=8, **form,
    )  # fmt: skip
    found = [column for column in columns(path) if column is not None]
    assert sum(map(len, found)) == len(runs)
    for column in found:
        column.validate(full=True)
    assert pa.chunked_array(found, pa.list_(kind)).to_pylist() == written["v"].to_pylist()


@pytest.mark.parametrize("rows", [[[1], None], [[1, None]]])
def test_absent_lists_and_values_are_left_to_arrow(tmp_path: Path, rows: list[Any]) -> None:
    pq.write_table(pa.table({"v": pa.array(rows, pa.list_(pa.uint8()))}), tmp_path / "file", compression="zstd")
    assert columns(tmp_path / "file") == [None]


@pytest.mark.parametrize(
    ("kind", "rows", "form"),
    [
        (pa.list_(pa.int64()), [[1]], {}),
        (pa.list_(pa.list_(pa.uint8())), [[[1]]], {}),
        (pa.list_(pa.field("element", pa.uint8(), nullable=False)), [[1]], {}),
        (pa.list_(pa.uint8()), [[1]], {"data_page_version": "2.0"}),
        (pa.list_(pa.uint8()), [[1]], {"compression": "gzip"}),
        (pa.uint8(), [1], {}),
    ],
)
def test_columns_of_another_form_are_left_to_arrow(
    tmp_path: Path, kind: pa.DataType, rows: list[Any], form: dict[str, Any]
) -> None:
    pq.write_table(pa.table({"v": pa.array(rows, kind)}), tmp_path / "file", **{"compression": "zstd", **form})
    assert columns(tmp_path / "file") == [None]


@pytest.mark.parametrize("form", FORMS)
def test_damage_that_no_checksum_tells_gives_an_error_or_a_sound_array(tmp_path: Path, form: dict[str, Any]) -> None:
    path, chance, refused = tmp_path / "file", random.Random(5), 0
    rows = [[chance.randrange(300) for _ in range(row % 40)] + [7] * (row % 9) for row in range(200)]
    pq.write_table(
        pa.table({"v": pa.array(rows, pa.list_(pa.uint16()))}), path, compression="none", data_page_size=512, **form
    )
    whole, most = path.read_bytes(), 0
    for _ in range(200):
        body = mutated(whole[:-600], chance)  # the footer is Arrow's to read
        path.write_bytes(body[: len(whole) - 600].ljust(len(whole) - 600, b"\0") + whole[-600:])
        try:
            (column,) = columns(path)
        except (ValueError, OSError):
            refused += 1
        else:
            if column is not None:
                column.validate(full=True)
                most = max(most, len(column))
    assert refused > 20 and most == len(rows)
