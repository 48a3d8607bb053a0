"""Tests of row groups written page by page: every reader has the rows that went in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.storage.pages.writing import PageWriter
from megacpp_assets.storage.parquet import read_table

INTEGERS = (pa.uint8(), pa.uint16(), pa.uint32(), pa.int32(), pa.int64(), pa.uint64())
VALUES = (*INTEGERS, pa.bool_(), pa.string(), pa.binary())
EDGE = pa.struct([("from", pa.uint16()), ("kind", pa.string()), ("leaf", pa.bool_())])
ENCODINGS = ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "")


def values_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a type, its ends among them; small numbers often, so that they repeat."""
    if pa.types.is_integer(kind):
        info = np.iinfo(kind.to_pandas_dtype())
        ends = st.sampled_from([info.min, info.max])
        return st.one_of(ends, st.integers(0, 3), st.integers(info.min, info.max).map(int))
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_string(kind):
        return st.text(max_size=8)
    if pa.types.is_binary(kind):
        return st.binary(max_size=8)
    return st.fixed_dictionaries({field.name: st.none() | values_of(field.type) for field in kind})


@st.composite
def columns(draw: st.DrawFn, rows: int) -> pa.Array:
    """A column of `rows` rows, of any covered type; values, lists and elements may be absent."""
    kind = draw(st.sampled_from([*VALUES, *map(pa.list_, VALUES), pa.list_(EDGE)]))
    lacks = draw(st.booleans())
    if not pa.types.is_list(kind):
        value = st.none() | values_of(kind) if lacks else values_of(kind)
        return pa.array(draw(st.lists(value, min_size=rows, max_size=rows)), kind)
    element = st.none() | values_of(kind.value_type) if lacks else values_of(kind.value_type)
    stretch = st.tuples(element, st.integers(1, 40)).map(lambda run: [run[0]] * run[1])
    row: st.SearchStrategy[Any] = st.lists(stretch, max_size=4).map(lambda runs: [one for run in runs for one in run])
    return pa.array(draw(st.lists(st.none() | row if lacks else row, min_size=rows, max_size=rows)), kind)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A table of a few columns, perhaps a part of another, so that its arrays do not begin at their first value."""
    rows = draw(st.integers(0, 40))
    arrays = draw(st.lists(columns(rows), min_size=1, max_size=4))
    table = pa.table({f"c{place}": array for place, array in enumerate(arrays)})
    begin = draw(st.integers(0, rows))
    return table.slice(begin, draw(st.integers(0, rows - begin)))


def encodings_of(draw: st.DataObject, schema: pa.Schema) -> dict[str, str]:
    """An encoding that its values can have for each column; none for a dictionary."""
    found = {field.name: draw.draw(st.sampled_from(possible(field.type))) for field in schema}
    return {name: encoding for name, encoding in found.items() if encoding}


def possible(kind: pa.DataType) -> tuple[str, ...]:
    value = kind.value_type if pa.types.is_list(kind) else kind
    if not pa.types.is_integer(value):
        return ("PLAIN", "")
    return ENCODINGS if value.bit_width <= 32 else ("PLAIN", "BYTE_STREAM_SPLIT", "")


def written(path: Path, groups: list[pa.Table], encodings: dict[str, str] | None = None) -> Path:
    """A file of row groups."""
    with PageWriter(path, groups[0].schema, encodings or {}) as writer:
        for group in groups:
            writer.write(group.combine_chunks())
    return path


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def of_arrow(table: pa.Table) -> pa.Schema:
    """The schema that Arrow reads of what Arrow writes."""
    file = pa.BufferOutputStream()
    pq.write_table(table.slice(0, 0), file)
    return pq.read_schema(pa.BufferReader(file.getvalue()))


@settings(max_examples=60, deadline=None)
@given(tables(), st.data())
def test_every_reader_has_the_rows_that_were_written(
    tmp_path_factory: pytest.TempPathFactory, database: duckdb.DuckDBPyConnection, table: pa.Table, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("pages") / "file"
    cut = data.draw(st.integers(0, table.num_rows))
    written(path, [table.slice(0, cut), table.slice(cut)], encodings_of(data, table.schema))
    by_arrow = pq.read_table(path, page_checksum_verification=True)
    assert by_arrow.schema.equals(of_arrow(table), check_metadata=True)
    by_arrow.validate(full=True)
    assert by_arrow.equals(table)
    assert read_table(path).equals(table)
    rows = database.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
    assert rows == [tuple(row.values()) for row in table.to_pylist()]


@settings(max_examples=30, deadline=None)
@given(tables(), st.data())
def test_the_same_rows_give_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, table: pa.Table, data: st.DataObject
) -> None:
    folder, encodings = tmp_path_factory.mktemp("pages"), encodings_of(data, table.schema)
    copied = pa.Table.from_pydict(table.to_pydict(), schema=table.schema)  # other buffers, without an offset
    first, second = (written(folder / name, [rows], encodings) for name, rows in (("a", table), ("b", copied)))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (pa.float32(), "c of Arrow's format f"),
        (pa.list_(pa.list_(pa.int32())), r"of Arrow's format \+l"),
        (pa.struct([("a", pa.int32())]), r"c of Arrow's format \+s"),
        (pa.large_string(), "c of Arrow's format U"),
        (pa.dictionary(pa.int32(), pa.string()), "c of Arrow's format i"),
        (pa.list_(pa.struct([("a", pa.list_(pa.int32()))])), r"a of Arrow's format \+l"),
        (pa.list_(pa.field("item", pa.int32(), nullable=False)), "item, which must not be absent"),
    ],
)
def test_a_schema_that_is_not_covered_is_refused_by_name(tmp_path: Path, kind: pa.DataType, named: str) -> None:
    with pytest.raises(SchemaViolation, match=f"parquet writer; expected .*; found .*{named}; what to do"):
        PageWriter(tmp_path / "file", pa.schema([("c", kind)]), {})


@pytest.mark.parametrize(
    ("kind", "encoding"),
    [
        (pa.int64(), "DELTA_BINARY_PACKED"),
        (pa.string(), "BYTE_STREAM_SPLIT"),
        (pa.list_(pa.string()), "DELTA_BINARY_PACKED"),
    ],
)
def test_an_encoding_that_values_cannot_have_is_refused(tmp_path: Path, kind: pa.DataType, encoding: str) -> None:
    empty = pa.schema([("c", kind)]).empty_table()
    with pytest.raises(SchemaViolation, match=r"parquet writer; expected .*; found an encoding that values"):
        written(tmp_path / "file", [empty], {"c": encoding})


def test_a_dictionary_is_written_only_where_it_spares_room(tmp_path: Path) -> None:
    table = pa.table({"often": [["a", "bb"]] * 40, "once": [[f"{row}", f"x{row}"] for row in range(40)]})
    group = pq.read_metadata(written(tmp_path / "file", [table])).row_group(0)
    assert ["RLE_DICTIONARY" in group.column(place).encodings for place in (0, 1)] == [True, False]


def test_bounds_of_plain_columns_are_those_that_arrow_writes(tmp_path: Path) -> None:
    table = pa.table(
        {
            "number": pa.array([3, None, -7], pa.int64()),
            "unsigned": pa.array([2**32 - 1, 1, 5], pa.uint32()),
            "text": ["b", "é", None],
            "none": pa.array([None] * 3, pa.int32()),
            "long": ["x" * 5000] * 3,
        }
    )
    pq.write_table(table, tmp_path / "arrow")
    ours, theirs = (
        pq.read_metadata(path).row_group(0) for path in (written(tmp_path / "f", [table]), tmp_path / "arrow")
    )
    for place in range(table.num_columns):
        found, expected = (group.column(place).statistics for group in (ours, theirs))
        assert (found.null_count, found.has_min_max) == (expected.null_count, expected.has_min_max)
        assert not found.has_min_max or (found.min, found.max) == (expected.min, expected.max)


GROWS = """
import resource, sys
from pathlib import Path
import numpy as np, pyarrow as pa
from megacpp_assets.storage.parquet import RowGroupWriter
chance, schema = np.random.default_rng(1), pa.schema([("v", pa.list_(pa.uint32()))])
peaks = []
with RowGroupWriter(Path(sys.argv[1]), schema, group_rows=16) as writer:
    for group in range(14):
        values = pa.array(chance.integers(0, 2**32, 1 << 20, dtype=np.uint32))
        offsets = pa.array(np.arange(0, (1 << 20) + 1, 1 << 16, dtype=np.int32))
        writer.write(pa.table([pa.ListArray.from_arrays(offsets, values)], schema=schema))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
print(peaks[-1] - peaks[7])
"""


def test_memory_does_not_grow_with_the_row_groups(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", GROWS, tmp_path / "file"], check=True, capture_output=True, text=True)
    assert (tmp_path / "file").stat().st_size > 14 * 4 << 20
    assert int(done.stdout) < 16  # MiB, four row groups; six more were written
