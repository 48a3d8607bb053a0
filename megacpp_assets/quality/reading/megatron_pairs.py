"""Reads the Megatron files of one split for their checks, and compares them with the packed rows block by block.

The files are mapped but not trusted: each part is read at the offsets of the format, even if another part is malformed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.megatron.pair.index_format import CODES, HEADER_BYTES, ROW_DTYPE, IndexHeader
from megacpp_assets.megatron.pair.reader import blocks
from megacpp_assets.megatron.sidecars.channels import Channel
from megacpp_assets.megatron.sidecars.chunks import ChunkFiles, map_chunks
from megacpp_assets.megatron.sidecars.sidecars import PLATFORM_DTYPE, open_channel
from megacpp_assets.storage.parquet import batches, read_table

_BLOCK_TOKENS = 1 << 18
_ROW_COLUMNS = [
    c.INPUT_IDS, *c.SIDE_CHANNELS.values(), c.VALID_TOKEN_COUNT,
    c.SOURCE_DOC_IDS, c.SOURCE_REPOS, c.SOURCE_DOC_TOKEN_LENGTHS, c.SOURCE_PLATFORM_IDS,
    *c.PACKED_ROWS_CHUNK_METADATA_COLUMNS,
]  # fmt: skip


@dataclass(slots=True)
class RowComparison:
    """The comparison of a pair with its packed rows: totals of the rows, and the first difference of each kind.

    A difference is text, "" if there is none.
    """

    tokens: int = 0
    documents: int = 0
    other_tokens: str = ""
    other_structure: str = ""
    other_lines: str = ""
    other_chunks: str = ""
    other_platforms: str = ""
    rows: int = 0


class Pair:
    """The Megatron files of one prefix, and the packed rows of its split.

    `lengths` (documents,) int32 and `pointers` (documents,) int64 are read from the index; `starts` (documents + 1,)
    int64 is the running sum of the lengths.
    """

    def __init__(self, prefix: Path, split: str, row_files: list[Path], row_tokens: int, code: int) -> None:
        """Map the files of `prefix`.

        Args:
            prefix: path of the pair without a suffix.
            split: name of the split.
            row_files: the parquet files of its packed rows, in order.
            row_tokens: the tokens of a row.
            code: Megatron's code of the token type that is expected.
        """
        self.prefix = prefix
        self.split = split
        self.code = code
        self.dtype = np.dtype(CODES[code])
        self.row_tokens = row_tokens
        self._row_files = row_files
        index = self.path(files.IDX)
        with index.open("rb") as file:
            self.head = file.read(HEADER_BYTES)
        self.index_bytes = index.stat().st_size
        # Another check reports a count that is too large for the file. Here it only must not read beyond the end.
        stated = struct.unpack_from("<Q", self.head.ljust(HEADER_BYTES, b"\0"), 18)[0]
        count = min(stated, self.index_bytes // 12)
        self.lengths = np.fromfile(index, "<i4", count, offset=HEADER_BYTES)
        self.pointers = np.fromfile(index, "<i8", count, offset=HEADER_BYTES + 4 * count)
        self.boundaries = np.fromfile(index, "<i8", count + 1, offset=HEADER_BYTES + 12 * count)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])
        self.tokens = _map(self.path(files.BIN), self.dtype)

    def path(self, suffix: str) -> Path:
        """Return the file of the pair that ends with `suffix`."""
        return self.prefix.with_name(self.prefix.name + suffix)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.lengths)

    @property
    def total(self) -> int:
        """The sum of the lengths in tokens."""
        return int(self.starts[-1])

    @property
    def expected_index_bytes(self) -> int:
        """The size in bytes of an index of this many documents."""
        return HEADER_BYTES + 12 * self.documents + 8 * (self.documents + 1)

    @property
    def bin_bytes(self) -> tuple[int, int]:
        """(size of the .bin, size that the lengths add up to), in bytes."""
        return self.path(files.BIN).stat().st_size, self.total * self.dtype.itemsize

    def header(self) -> tuple[IndexHeader, bool]:
        """Return the header, and whether it has the expected token type and one more boundary than sequences.

        Raises `IndexCorrupt` if the bytes are not a Megatron header.
        """
        header = IndexHeader.from_bytes(self.head, self.path(files.IDX).name)
        return header, header.code == self.code and header.boundaries == header.sequences + 1

    def pointers_run(self) -> bool:
        """Return whether pointers are the running sum of lengths in bytes, and boundaries run from 0 to the document
        count.
        """
        running = np.array_equal(self.pointers, self.starts[:-1] * self.dtype.itemsize)
        return running and np.array_equal(self.boundaries, np.arange(self.documents + 1))

    def ids_outside(self, limit: int) -> int:
        """Return the number of tokens that are negative, or not below `limit`."""
        return sum(int(((part < 0) | (part >= limit)).sum()) for part in self._token_blocks())

    def bos(self) -> tuple[int, int]:
        """Return (BOS tokens in the whole file, documents that start with BOS)."""
        starts = self.starts[:-1]
        at_start = int((self.tokens[starts[starts < len(self.tokens)]] == BOS_ID).sum())
        return sum(int((part == BOS_ID).sum()) for part in self._token_blocks()), at_start

    def uneven_channels(self) -> Iterator[str]:
        """Yield a problem for each channel that does not have one value per token."""
        if self._record.tokens != self.total:
            yield f"a record of {self._record.tokens} tokens for {self.total}"
        yield from (str(error) for error in self._channels.values() if isinstance(error, IndexCorrupt))

    def rows_cover(self) -> bool:
        """Return whether row starts rise from 0 to the document count, and no row has more than `row_tokens` tokens."""
        rows = np.fromfile(self.path(files.ROWS), ROW_DTYPE)
        rising = len(rows) > 1 and rows[0] == 0 and rows[-1] == self.documents and bool((np.diff(rows) > 0).all())
        return rising and int(np.diff(self.starts[rows]).max()) <= self.row_tokens

    @property
    def listed(self) -> int:
        """The number of lines in the list of documents."""
        return self._lines.num_rows

    @cached_property
    def _lines(self) -> pa.Table:
        return read_table(self.path(files.DOCUMENTS))

    @cached_property
    def rows(self) -> RowComparison:
        """The comparison of this pair with its packed rows, in order."""
        found = RowComparison()
        for file in self._row_files:
            for batch in batches(file, max(1, _BLOCK_TOKENS // self.row_tokens), _ROW_COLUMNS):
                self._compare(batch, found)
        return found

    @cached_property
    def _record(self) -> files.SidecarRecord:
        path = self.path(files.SIDECAR_RECORD)
        return files.SidecarRecord.from_bytes(path.read_bytes(), path.name)

    @cached_property
    def _channels(self) -> dict[str, Channel | IndexCorrupt]:
        """Each channel, or the error of its file."""
        found: dict[str, Channel | IndexCorrupt] = {}
        for name in c.SIDE_CHANNELS:
            try:
                found[name] = open_channel(self.path(files.channel_suffix(name)), self._record, name)
            except IndexCorrupt as error:
                found[name] = error
        return found

    def _compare(self, batch: pa.RecordBatch, found: RowComparison) -> None:
        """Compare the next rows with the pair, and add the result to `found`."""
        valid = batch.column(c.VALID_TOKEN_COUNT).to_numpy()
        inputs = _prefixes(batch.column(c.INPUT_IDS), valid)
        place = slice(found.tokens, found.tokens + len(inputs))
        if not np.array_equal(self.tokens[place], inputs):
            found.other_tokens = found.other_tokens or f"tokens {place.start} to {place.stop} differ"
        bounds = place.start + np.concatenate([[0], np.cumsum(valid, dtype=np.int64)])
        for name, channel in self._channels.items():
            wanted = _prefixes(batch.column(c.SIDE_CHANNELS[name]), valid)
            # Another check reports a file with a wrong size.
            same = isinstance(channel, IndexCorrupt) or _has_rows(channel, found.rows, bounds, wanted)
            if not same:
                found.other_structure = found.other_structure or f"{name} differs after token {place.start}"
        self._compare_chunks(batch, found)
        self._compare_lines(batch, found)
        found.tokens = place.stop

    def _compare_chunks(self, batch: pa.RecordBatch, found: RowComparison) -> None:
        first, found.rows = found.rows, found.rows + batch.num_rows
        if found.other_chunks:
            return
        try:
            sidecars = self._chunks.lists(np.arange(first, found.rows)).table()
        except (IndexCorrupt, IndexError, ValueError) as error:
            found.other_chunks = f"unreadable from row {first}: {error}"
            return
        for name in c.PACKED_ROWS_CHUNK_METADATA_COLUMNS:
            if not _same_lists(sidecars[name].combine_chunks(), batch.column(name)):
                found.other_chunks = found.other_chunks or f"{name} differs after row {first}"

    @cached_property
    def _platforms(self) -> NDArray[Any]:
        return _map(self.path(files.PLATFORMS), PLATFORM_DTYPE)

    @property
    def surplus_platform_bytes(self) -> int:
        """Bytes that the file of platforms has beyond those of the documents; negative if it has too few."""
        return len(self._platforms) - self.documents * MAX_PLATFORM_IDS

    @cached_property
    def _chunks(self) -> ChunkFiles:
        return map_chunks(self.prefix.parent, self._record)

    def _compare_lines(self, batch: pa.RecordBatch, found: RowComparison) -> None:
        lengths = batch.column(c.SOURCE_DOC_TOKEN_LENGTHS).flatten()
        wanted = {
            c.TOKENS: lengths,
            c.SEQUENCE: pa.array(np.arange(found.documents, found.documents + len(lengths))),
            c.DOC_ID: batch.column(c.SOURCE_DOC_IDS).flatten(),
            c.REPO: batch.column(c.SOURCE_REPOS).flatten(),
        }
        platforms = batch.column(c.SOURCE_PLATFORM_IDS).flatten().to_numpy().astype(np.int64)
        place = found.documents * MAX_PLATFORM_IDS
        if not np.array_equal(self._platforms[place : place + len(platforms)], platforms):
            found.other_platforms = found.other_platforms or f"platforms differ after document {found.documents}"
        lines = self._lines.slice(found.documents, len(lengths))
        same = all(lines[name].combine_chunks().equals(row.cast(lines[name].type)) for name, row in wanted.items())
        if not same:
            found.other_lines = found.other_lines or f"documents differ after line {found.documents}"
        found.documents += len(lengths)

    def _token_blocks(self) -> Iterator[NDArray[Any]]:
        return (self.tokens[part] for part in blocks(len(self.tokens)))


def _prefixes(column: pa.ListArray, counts: NDArray[np.int64]) -> NDArray[Any]:
    """Return the first counts[i] values of row i, for all rows, as one array. All rows have the same length."""
    rows = column.flatten().to_numpy().reshape(len(counts), -1)
    return np.concatenate([row[:count] for row, count in zip(rows, counts, strict=True)])


def _has_rows(channel: Channel, first: int, bounds: NDArray[np.int64], wanted: NDArray[Any]) -> bool:
    """Return whether the channel has the values `wanted` for the rows from `first`, whose tokens lie between
    `bounds`.
    """
    try:
        return np.array_equal(channel.consecutive(first, bounds), wanted)
    except (IndexCorrupt, IndexError):
        return False


def _same_lists(one: pa.ListArray, other: pa.ListArray) -> bool:
    same_lengths = one.value_lengths().equals(other.value_lengths())
    return same_lengths and one.flatten().equals(other.flatten().cast(one.type.value_type))


def _map(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values of a file, mapped. Extra bytes at its end are ignored here: another check compares the size."""
    whole = path.stat().st_size // dtype.itemsize
    return np.memmap(path, dtype, "r", shape=(whole,)) if whole else np.empty(0, dtype)
