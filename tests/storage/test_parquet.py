"""Tests of parquet whose bytes depend on the rows alone."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.errors import LineageGap, SchemaViolation
from megacpp_assets.contract.schemas import ENCODINGS, ENRICHED, PACKED, ROW_GROUP_ROWS, TOKENIZED
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.parquet import RowGroupWriter, batches, count_rows, read_schema, read_table, row_groups
from megacpp_assets.storage.publish import Publication, Target, publish
from tests.storage.mutation import mutated

SCHEMA = pa.schema(
    [("doc_id", pa.string()), ("ids", pa.list_(pa.uint32())), ("edges", pa.list_(pa.struct([("from", pa.uint16())])))]
)
ROWS = 2500
TABLE = pa.table(
    {
        "doc_id": [f"d{row}" for row in range(ROWS)],
        "ids": [list(range(row % 5)) for row in range(ROWS)],
        "edges": [[{"from": 7}] * (row % 3) for row in range(ROWS)],
    },
    schema=SCHEMA,
)


def write(path: Path, *tables: pa.Table) -> Path:
    with RowGroupWriter(path, SCHEMA) as writer:
        for table in tables:
            writer.write(table)
    return path


@settings(max_examples=10)
@given(st.lists(st.integers(0, ROWS), max_size=12).map(sorted))
def test_bytes_do_not_depend_on_how_the_rows_arrive(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    edges = [0, *cuts, ROWS]
    parts = [TABLE.slice(begin, end - begin) for begin, end in pairwise(edges)]
    assert sha256_file(write(folder / "parts", *parts)) == sha256_file(write(folder / "whole", TABLE))


def test_row_groups_are_full_but_the_last_and_come_back_in_order(tmp_path: Path) -> None:
    groups = list(row_groups(write(tmp_path / "file", TABLE)))
    assert [group.num_rows for group in groups] == [ROW_GROUP_ROWS, ROW_GROUP_ROWS, ROWS - 2 * ROW_GROUP_ROWS]
    assert pa.concat_tables(groups).equals(TABLE)


@pytest.mark.parametrize("encoding", ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"])
def test_a_column_is_written_in_its_encoding_and_every_reader_has_its_values(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "file"
    with RowGroupWriter(path, SCHEMA, encodings={"ids": encoding}) as writer:
        writer.write(TABLE)
    encodings = {
        column.path_in_schema: set(column.encodings)
        for column in map(pq.ParquetFile(path).metadata.row_group(0).column, range(3))
    }
    assert encoding in encodings["ids.list.element"] and "RLE_DICTIONARY" not in encodings["ids.list.element"]
    assert "RLE_DICTIONARY" in encodings["edges.list.element.from"]
    assert pa.concat_tables(row_groups(path)).equals(TABLE)
    assert pq.read_table(path).equals(TABLE)
    with duckdb.connect() as database:
        rows = database.execute("SELECT ids FROM read_parquet(?)", [str(path)]).fetchall()
    assert [ids for (ids,) in rows] == TABLE["ids"].to_pylist()


@pytest.mark.parametrize("schema", [TOKENIZED, ENRICHED, PACKED])
def test_every_column_is_written_in_the_encoding_that_the_schemas_say(tmp_path: Path, schema: pa.Schema) -> None:
    lists = [name for name in schema.names if name in ENCODINGS]
    path = tmp_path / "file"
    with RowGroupWriter(path, schema) as writer:
        writer.write(pa.Table.from_pylist([{name: [1] for name in lists}], schema=schema))
    group = pq.ParquetFile(path).metadata.row_group(0)
    found = {group.column(place).path_in_schema: group.column(place).encodings for place in range(group.num_columns)}
    assert lists and all(ENCODINGS[name] in found[f"{name}.list.element"] for name in lists)


def test_a_file_without_rows_still_has_its_schema(tmp_path: Path) -> None:
    (group,) = row_groups(write(tmp_path / "file"))
    assert group.schema == SCHEMA and group.num_rows == 0


def test_another_schema_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SchemaViolation, match="parquet writer"):
        write(tmp_path / "file", TABLE.drop_columns(["ids"]))


def test_a_flipped_byte_in_a_page_does_not_read_as_data(tmp_path: Path) -> None:
    path = write(tmp_path / "file", TABLE)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0x10
    path.write_bytes(data)
    with pytest.raises(SchemaViolation, match="CRC checksum"):
        list(row_groups(path))


def test_a_disk_that_is_full_is_an_error_not_a_short_file() -> None:
    with pytest.raises(OSError, match="No space left"):
        write(Path("/dev/full"), TABLE)


def test_no_mutated_file_of_an_artifact_gives_rows(tmp_path: Path) -> None:
    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> dict[str, int]:
        with publication.file("rows.parquet") as pending:
            write(pending.path, TABLE)
        return {}

    artifact = publish(Target(tmp_path, "packed/set/base/4k", "packed_rows", "base/4k", "1", {}), produce)
    file, chance, given = artifact.file("rows.parquet"), random.Random(3), []
    whole = file.read_bytes()
    for _ in range(400):
        file.write_bytes(mutated(whole, chance))
        if file.read_bytes() != whole:
            with pytest.raises(LineageGap, match=r"packed/set/base/4k/rows\.parquet; expected"):
                given += list(row_groups(artifact.file("rows.parquet")))
    assert given == []


def test_a_damaged_file_is_named_in_one_sentence(tmp_path: Path) -> None:
    path, chance, refused = write(tmp_path / "file", TABLE), random.Random(4), 0
    whole = path.read_bytes()
    for _ in range(400):
        path.write_bytes(mutated(whole, chance))
        try:
            read_table(path), read_schema(path), count_rows(path), list(batches(path, 7))
        except SchemaViolation as error:
            assert f"{tmp_path.name}/file; expected parquet; found " in str(error)
            assert "what to do: rerun the stage" in str(error)
            assert "\n" not in str(error)
            refused += 1
    assert refused > 250


def test_a_column_whose_name_is_no_text_is_named_as_damage(tmp_path: Path) -> None:
    path = tmp_path / "file"
    pq.write_table(pa.table({"column": [1, 2]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"column", b"co\xf1umn"))
    with pytest.raises(SchemaViolation, match=r"file; expected parquet; found .*0xf1"):
        count_rows(path)
