"""Sidecar files of a prefix, which Megatron does not read: channels, row starts, chunks, platforms, document list.

They hold the packed columns for the tokens of the .bin. So training can use the structure, and a loader can rebuild the
packed rows exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.contract.megatron_files import SIDECAR_RECORD, SidecarRecord
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS, PLATFORM_IDS
from megacpp_assets.megatron.pair.index_format import ROW_DTYPE
from megacpp_assets.megatron.pair.reader import BinIdx, blocks, mapped
from megacpp_assets.megatron.sidecars.channels import Channel, map_channel
from megacpp_assets.megatron.sidecars.chunks import ChunkFiles, map_chunks, verify_chunks
from megacpp_assets.storage.parquet import count_rows

PLATFORM_DTYPE: Final = np.dtype("u1")


class RowStarts:
    """Writes the number of the first sequence of each packed row, and at the end the number of sequences."""

    def __init__(self, file: BinaryIO) -> None:
        self.rows = 0
        self._file = file
        self._sequences = 0

    def append(self, documents_per_row: NDArray[np.int64]) -> None:
        """Add rows with the given numbers of documents."""
        ends = self._sequences + np.cumsum(documents_per_row, dtype=ROW_DTYPE)
        self._file.write((ends - documents_per_row).astype(ROW_DTYPE).data)
        self._sequences = int(ends[-1]) if len(ends) else self._sequences
        self.rows += len(documents_per_row)

    def finish(self) -> None:
        """Write the last entry, the number of sequences."""
        self._file.write(np.array([self._sequences], dtype=ROW_DTYPE).data)


@dataclass(frozen=True, slots=True)
class Sidecars:
    """The mapped sidecars of a prefix."""

    record: SidecarRecord
    row_starts: NDArray[np.int64]
    channels: dict[str, Channel]
    documents_path: Path
    chunks: ChunkFiles
    platforms: NDArray[Any]


def open_channel(path: Path, record: SidecarRecord, channel: str) -> Channel:
    """Map the file `path` as the channel that `record` describes. Raises `IndexCorrupt` like `map_channel`."""
    dtype, runs = np.dtype(record.side_channel_dtypes[channel]), record.side_channel_runs.get(channel)
    return map_channel(path, dtype, runs, tokens=record.tokens, rows=record.rows, row_tokens=record.row_tokens)


def open_sidecars(prefix: Path) -> Sidecars | None:
    """Open and verify the sidecars of `prefix`; None if it has no record of sidecars.

    Raises `IndexCorrupt` unless each channel has the size of its values or runs, the row starts rise from 0 to the
    number of documents, the document list has one line per document, and chunks, edges and platforms are valid.
    """
    record_path = prefix.with_name(prefix.name + SIDECAR_RECORD)
    if not record_path.is_file():
        return None
    record = SidecarRecord.from_bytes(record_path.read_bytes(), record_path.name)
    channels = {
        name: open_channel(prefix.with_name(path), record, name) for name, path in record.side_channel_paths.items()
    }
    row_starts = _map(prefix.with_name(record.rows_path), ROW_DTYPE, record.rows + 1)
    rising = all(bool((np.diff(row_starts[part.start : part.stop + 1]) > 0).all()) for part in blocks(record.rows))
    if not rising or row_starts[0] != 0 or row_starts[-1] != record.documents:
        raise IndexCorrupt(
            record.rows_path,
            expected=f"row starts that rise from 0 to {record.documents}",
            found="values that break the rule",
        )
    documents_path = prefix.with_name(record.documents_path)
    found = count_rows(documents_path) if documents_path.is_file() else "no such file"
    if found != record.documents:
        raise IndexCorrupt(record.documents_path, expected=f"{record.documents} lines", found=found)
    chunks = map_chunks(prefix.parent, record)
    verify_chunks(chunks, record)
    platforms = map_platforms(prefix.with_name(record.platforms_path), record)
    _verify_platforms(platforms, record.platforms_path)
    return Sidecars(record, row_starts, channels, documents_path, chunks, platforms)


def require_one_sequence_per_document(pair: BinIdx, sidecars: Sidecars) -> None:
    """Raise `IndexCorrupt` unless each document of `pair` is one sequence, and `sidecars` describe the same documents.

    Sidecars number documents by sequence, so they cannot describe a document of several sequences.
    """
    record = sidecars.record
    expected = f"{record.documents} documents of one sequence each, {record.tokens} tokens"
    if (record.documents, record.documents, record.tokens) != (pair.documents, pair.sequences, len(pair.tokens)):
        found = f"{pair.documents} documents, {pair.sequences} sequences, {len(pair.tokens)} tokens"
        where = f"the pair of {record.documents_path}"
        raise IndexCorrupt(where, expected=expected, found=found, do="rerun megatron_bin_idx")


def map_platforms(path: Path, record: SidecarRecord) -> NDArray[Any]:
    """Map the platforms, shape (sequences, MAX_PLATFORM_IDS). Raises `IndexCorrupt` if the file has a wrong size."""
    return _map(path, PLATFORM_DTYPE, record.documents * MAX_PLATFORM_IDS).reshape(-1, MAX_PLATFORM_IDS)


def _verify_platforms(platforms: NDArray[Any], where: str) -> None:
    for part in blocks(len(platforms)):
        ids = platforms[part].astype(np.int16)
        rising = (ids[:, 1:] > ids[:, :-1]) | (ids[:, 1:] == 0)
        ended = (ids[:, :-1] > 0) | (ids[:, 1:] == 0)
        if not (rising & ended).all() or (ids >= PLATFORM_IDS).any():
            expected = f"ascending numbers below {PLATFORM_IDS}, then 0"
            raise IndexCorrupt(
                where, expected=expected, found="values that break the rule", do="rerun megatron_bin_idx"
            )


def _map(path: Path, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    found = path.stat().st_size if path.is_file() else "no such file"
    if found != count * dtype.itemsize:
        raise IndexCorrupt(path.name, expected=f"{count} values of {dtype.itemsize} bytes", found=found)
    return mapped(path, dtype, count)
