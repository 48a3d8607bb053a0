"""Parquet whose bytes depend on the rows alone: fixed row groups and chunk layout however the rows arrive.

Arrow tables come in, one file goes out; at most one row group is held in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.schemas import ROW_GROUP_ROWS


class RowGroupWriter:
    """Writes tables of `schema` to `path` in row groups of `ROW_GROUP_ROWS` rows (the last may be shorter)."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.rows = 0
        self._schema = schema
        self._held: list[pa.Table] = []
        self._held_rows = 0
        self._writer = pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)

    def write(self, table: pa.Table) -> None:
        """Append the rows of `table`; `SchemaViolation` if its columns are not those of the schema, in order."""
        if table.schema != self._schema:
            raise SchemaViolation("parquet writer", expected=self._schema.names, found=table.schema.names)
        self.rows += table.num_rows
        self._held.append(table)
        self._held_rows += table.num_rows
        while self._held_rows >= ROW_GROUP_ROWS:
            self._flush(ROW_GROUP_ROWS)

    def _flush(self, rows: int) -> None:
        table = pa.concat_tables(self._held)
        # A row group's bytes depend on how its columns are chunked, so they are always one chunk.
        self._writer.write_table(table.slice(0, rows).combine_chunks(), row_group_size=ROW_GROUP_ROWS)
        self._held = [table.slice(rows)]
        self._held_rows -= rows

    def __enter__(self) -> RowGroupWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and (self._held_rows or self.rows == 0):
            self._held.append(self._schema.empty_table())
            self._flush(self._held_rows)
        self._writer.close()


@contextmanager
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """The parquet file at `path`, page checksums verified as pages are read."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        yield file


def row_groups(path: Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """The row groups of the file at `path`, in order; `columns` limits what is read."""
    with open_parquet(path) as file:
        for index in range(file.num_row_groups):
            yield file.read_row_group(index, columns=columns)
