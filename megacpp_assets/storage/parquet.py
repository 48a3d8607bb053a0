"""Parquet files whose bytes depend only on their rows: the row groups and chunks are the same however the rows arrive.

Arrow's reader and writer do the work. At most two row groups are in memory.
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


class RowGroupWriter:
    """Writes tables of `schema` to `path` in row groups of `group_rows` rows; the last row group may be shorter.

    `encodings` names Parquet's encoding of a column; every other column is written with a dictionary.
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
        leaves = {leaf: field.name for field in schema for leaf in _leaves(field.name, field.type)}
        self._writer = pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            write_page_checksum=True,
            use_dictionary=[leaf for leaf, column in leaves.items() if column not in encodings],
            column_encoding={leaf: encodings[column] for leaf, column in leaves.items() if column in encodings},
        )

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
        # Encoding takes as long as making the rows, so it runs in its own thread at the same time.
        self._writing = self._thread.submit(self._writer.write_table, group, row_group_size=self._group_rows)
        self._held_rows -= rows
        self._held = [table.slice(rows)] if self._held_rows else []

    def _wait(self) -> None:
        """Wait until the pending row group is written; raise the error of its writing, if any."""
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
        finally:
            self._thread.shutdown()
            self._writer.close()


def _leaves(path: str, kind: pa.DataType) -> Iterator[str]:
    """Yield the paths of the physical columns of a field, as Parquet names them."""
    if pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for child in kind:
            yield from _leaves(f"{path}.{child.name}", child.type)
    else:
        yield path


@contextmanager
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open the Parquet file at `path`; page checksums are verified on reading. `SchemaViolation` if it is malformed."""
    with _naming(path):
        # Files are local, so Arrow need not read ahead of the decoder.
        file = pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False)
    with file:
        yield file


def row_groups(path: Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Yield the row groups of the file at `path` in order, all columns or `columns`. `SchemaViolation` for damage."""
    with open_parquet(path) as file:
        for index in range(file.num_row_groups):
            with _naming(path):
                # Steps already fill the cores, and Arrow's threads cost a fifth more CPU.
                table = file.read_row_group(index, columns=columns, use_threads=False)
            yield table


def batches(path: Path, rows: int, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield batches of at most `rows` rows; a batch never spans two row groups. `SchemaViolation` for damage."""
    for table in row_groups(path, columns):
        yield from table.to_batches(max_chunksize=rows)


def read_table(path: Path) -> pa.Table:
    """Read the whole file at `path`; `SchemaViolation` for damage."""
    return pa.concat_tables(row_groups(path))


def read_schema(path: Path) -> pa.Schema:
    """Return the schema of the file at `path`; `SchemaViolation` if it is not Parquet."""
    with open_parquet(path) as file:
        return file.schema_arrow


def count_rows(path: Path) -> int:
    """Return the number of rows that the file at `path` states; `SchemaViolation` if it is not Parquet."""
    with open_parquet(path) as file:
        return int(file.metadata.num_rows)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn Arrow's errors about damaged bytes into one that names the file."""
    try:
        yield
    except (pa.ArrowException, ValueError, OSError) as error:
        # An OSError with a number comes from the disk; one without comes from a decoder that found malformed bytes.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).partition("\n")[0]
        raise SchemaViolation(
            "/".join(path.parts[-3:]), expected="parquet", found=reason, do="rerun the stage that made it"
        ) from error
