"""Lists of integers of a row group, read from the pages of their column: Arrow's array, in a fifth of its time.

Arrow writes down both levels of each value of a list before it looks at the values. Here levels stay the runs that they
are in the file, and values go straight into memory of their own width.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from megacpp_assets.storage.pages._pages import Column8, Column16, Column32, page_header

_COLUMNS: Final = {1: Column8, 2: Column16, 4: Column32}
_TYPES: Final = {pa.uint8(), pa.uint16(), pa.uint32(), pa.int32()}
_ENCODINGS: Final = {"PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"}
_CODECS: Final = {"ZSTD": pa.Codec("zstd"), "UNCOMPRESSED": None}
_LEVELS: Final = (3, 1)
"""Definition and repetition level of a value of a list, where lists and values may be absent."""
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_MOST_VALUES = 2**31 - 1


class _Page(NamedTuple):
    kind: int
    header: int
    packed: int
    whole: int
    checksum: int | None
    values: int
    encoding: int


class ListReader:
    """The columns of `file` that can be read from their pages; `descriptor` is of the same file, open."""

    def __init__(self, file: pq.ParquetFile, descriptor: int) -> None:
        self.schema = file.schema_arrow
        self._metadata = file.metadata
        self._descriptor = descriptor
        self._places = _places(file.schema, self.schema)

    def read(self, group: int, name: str) -> pa.ListArray | None:
        """The column `name` of a row group; None if it holds other than lists of integers, at most 32 bits wide, if a
        list or a value is absent, if there is no row, or if the file is of another writer.

        `ValueError` or `OSError` for pages that are damaged.
        """
        place = self._places.get(name)
        if place is None:
            return None
        rows, kind = self._metadata.row_group(group), self.schema.field(name).type
        column = rows.column(place)
        if not rows.num_rows or not _is_plain(column):
            return None
        offsets = pa.allocate_buffer(4 * (rows.num_rows + 1))
        values = pa.allocate_buffer(kind.value_type.byte_width * column.num_values)
        count = self._fill(column, _array(offsets, np.int32), _array(values, _unsigned(kind)))
        if count is None:
            return None
        flat = pa.Array.from_buffers(kind.value_type, count, [None, values])
        return pa.ListArray.from_buffers(kind, rows.num_rows, [None, offsets], children=[flat])

    def _fill(self, column: Any, offsets: NDArray[np.int32], values: NDArray[Any]) -> int | None:
        """Decode all pages of `column`; the number of values, or None where one is absent."""
        decoded = _COLUMNS[values.itemsize](offsets, values)
        seen = 0
        for page, packed in _pages(self._bytes(column)):
            if page.kind not in {_DATA_PAGE, _DICTIONARY_PAGE}:
                return None
            body = _unpacked(packed, page, _CODECS[column.compression])
            if page.kind == _DICTIONARY_PAGE:
                decoded.dictionary(body, page.values)
            elif decoded.data(body, page.values, page.encoding):
                seen += page.values
            else:
                return None
        if seen != column.num_values:
            raise ValueError(f"{seen} values in the pages of a column of {column.num_values}")
        return decoded.finish()

    def _bytes(self, column: Any) -> NDArray[np.uint8]:
        """The pages of `column`, as they lie in the file."""
        first = min(at for at in (column.dictionary_page_offset, column.data_page_offset) if at)
        data = os.pread(self._descriptor, column.total_compressed_size, first)
        return np.frombuffer(data, np.uint8)


def _places(columns: Any, schema: pa.Schema) -> dict[str, int]:
    """Of each column of lists that can be read here, its place among all physical columns."""
    wanted = {f"{field.name}.list.element": field.name for field in schema if _is_list_of_integers(field.type)}
    found = ((columns.column(place), place) for place in range(len(columns)))
    return {wanted[column.path]: place for column, place in found if column.path in wanted and _is_usual(column)}


def _is_list_of_integers(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) and kind.value_type in _TYPES


def _is_usual(column: Any) -> bool:
    levels = (column.max_definition_level, column.max_repetition_level)
    return levels == _LEVELS and column.physical_type == "INT32"


def _is_plain(column: Any) -> bool:
    known = set(column.encodings) <= _ENCODINGS and column.compression in _CODECS
    return known and column.num_values <= _MOST_VALUES


def _unsigned(kind: pa.ListType) -> np.dtype[Any]:
    return np.dtype(f"u{kind.value_type.byte_width}")


def _array(buffer: pa.Buffer, dtype: Any) -> NDArray[Any]:
    return np.frombuffer(buffer, dtype)


def _pages(chunk: NDArray[np.uint8]) -> Iterator[tuple[_Page, NDArray[np.uint8]]]:
    """Each page of a column with its body, whose checksum is right."""
    at = 0
    while at < len(chunk):
        page = _Page(*page_header(chunk, at))
        at += page.header
        packed = chunk[at : at + page.packed]
        at += page.packed
        if len(packed) < page.packed:
            raise ValueError("a page that is cut off")
        if page.checksum is not None and zlib.crc32(packed.data) != page.checksum:
            raise ValueError("a page with another CRC checksum than it says")
        yield page, packed


def _unpacked(packed: NDArray[np.uint8], page: _Page, codec: pa.Codec | None) -> NDArray[np.uint8]:
    if codec is None or not page.whole:
        return packed
    return np.frombuffer(codec.decompress(pa.py_buffer(packed), page.whole), np.uint8)
