"""Parquet whose bytes depend on the rows alone: fixed row groups and chunk layout however the rows arrive.

Arrow tables come in, one file goes out; at most two row groups are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import ENCODINGS, ROW_GROUP_ROWS
from megacpp_assets.storage.pages.lists import ListReader
from megacpp_assets.storage.pages.writing import PageWriter


class RowGroupWriter:
    """Writes tables of `schema` to `path` in row groups of `group_rows` rows (the last may be shorter).

    Columns that `encodings` does not name are written with a dictionary.
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        *,
        encodings: Mapping[str, str] = ENCODINGS,
        group_rows: int = ROW_GROUP_ROWS,
    ) -> None:
        self.rows = 0
        self._group_rows = group_rows
        self._schema = schema
        self._held: list[pa.Table] = []
        self._held_rows = 0
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._writing: Future[None] | None = None
        self._writer = PageWriter(path, schema, encodings)

    def write(self, table: pa.Table) -> None:
        """Append the rows of `table`; `SchemaViolation` if its columns are not those of the schema, in order."""
        if table.schema != self._schema:
            raise SchemaViolation("parquet writer", expected=self._schema.names, found=table.schema.names)
        self.rows += table.num_rows
        self._held.append(table)
        self._held_rows += table.num_rows
        while self._held_rows >= self._group_rows:
            self._flush(self._group_rows)

    def _flush(self, rows: int) -> None:
        table = pa.concat_tables(self._held)
        # A row group's bytes depend on how its columns are chunked, so they are always one chunk.
        group = table.slice(0, rows).combine_chunks()
        self._wait()
        # Encoding takes as long as making the rows; in a thread of its own it does so at the same time.
        self._writing = self._thread.submit(self._writer.write, group)
        self._held_rows -= rows
        self._held = [table.slice(rows)] if self._held_rows else []  # beside a part without rows, all would be copied

    def _wait(self) -> None:
        """Until the row group at work is written; raises what its writing raised."""
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def __enter__(self) -> RowGroupWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and (self._held_rows or self.rows == 0):
                self._held = self._held or [self._schema.empty_table()]
                self._flush(self._held_rows)
            if error is None:
                self._wait()
        except BaseException as failure:
            self._end(failure)
            raise
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        self._thread.shutdown()
        self._writer.__exit__(type(error) if error else None, error, None)


@contextmanager
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """The parquet file at `path`, page checksums verified as pages are read; `SchemaViolation` if it is none."""
    with _naming(path):
        file = pq.ParquetFile(
            path, page_checksum_verification=True, pre_buffer=False
        )  # local files: nothing to wait for
    with file:
        yield file


def row_groups(path: Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """The row groups of the file at `path`, in order; `columns` limits what is read. `SchemaViolation` for damage."""
    with open_parquet(path) as file, path.open("rb") as pages:
        with _naming(path):
            lists = ListReader(file, pages.fileno())
        for index in range(file.num_row_groups):
            with _naming(path):
                table = _row_group(file, lists, index, columns)
            yield table


def batches(path: Path, rows: int, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """As `row_groups`, at most `rows` rows at a time, of one row group each."""
    for table in row_groups(path, columns):
        yield from table.to_batches(max_chunksize=rows)


def read_table(path: Path) -> pa.Table:
    """The whole file at `path`; `SchemaViolation` for damage."""
    return pa.concat_tables(row_groups(path))


def _row_group(file: pq.ParquetFile, lists: ListReader, index: int, columns: list[str] | None) -> pa.Table:
    """A row group, its columns in the order of the file: lists of integers from their pages, the others by Arrow."""
    fields = [field for field in lists.schema if columns is None or field.name in columns]
    read = {field.name: lists.read(index, field.name) for field in fields}
    # Steps fill the cores; threads cost a fifth.
    table = file.read_row_group(index, columns=[name for name in read if read[name] is None], use_threads=False)
    arrays = [table[name] if array is None else array for name, array in read.items()]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def read_schema(path: Path) -> pa.Schema:
    """The schema of the file at `path`; `SchemaViolation` if it is no parquet."""
    with open_parquet(path) as file:
        return file.schema_arrow


def count_rows(path: Path) -> int:
    """The number of rows that the file at `path` states; `SchemaViolation` if it is no parquet."""
    with open_parquet(path) as file:
        return int(file.metadata.num_rows)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """What arrow says of damaged bytes, as an error that names the file."""
    try:
        yield
    except (pa.ArrowException, ValueError, OSError) as error:
        # An OSError with a number comes from the disk, one without from a reader that cannot make sense of the bytes.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).partition("\n")[0]
        raise SchemaViolation(
            "/".join(path.parts[-3:]), expected="parquet", found=reason, do="rerun the stage that made it"
        ) from error
