"""Reads packed rows of a Megatron artifact as batches of fixed shape, directly from memory maps.

A row is the concatenation of consecutive documents, padded to T tokens. Only the requested rows are decoded and copied.
Every batch has the same keys, shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.columns import (
    CHANGE_CHANNELS,
    PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES,
    ROLES,
    SIDE_CHANNELS,
    STRUCTURE_CHANNELS,
    SYMBOL_CHANNELS,
)
from megacpp_assets.contract.errors import IndexCorrupt, SpecError
from megacpp_assets.contract.megatron_files import SidecarRecord
from megacpp_assets.contract.names import TRAIN_SPLIT, fixed_max_chunks
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.tokens.specials import BOS_ID, PAD_ID
from megacpp_assets.loader.chunks import ChunkBatch, chunk_batch
from megacpp_assets.loader.documents import row_documents
from megacpp_assets.megatron.pair.reader import mapped, open_pair, token_starts
from megacpp_assets.megatron.sidecars.channels import Channel, ChannelValues
from megacpp_assets.megatron.sidecars.chunks import ChunkFiles, map_chunks
from megacpp_assets.megatron.sidecars.sidecars import map_platforms, open_channel
from megacpp_assets.storage.artifact import Artifact


@dataclass(frozen=True, slots=True)
class RowBatch:
    """B rows of T tokens. Padding has PAD, the last document's id, no loss, and the fill value of each channel.

    `input_ids`, `roles` and the five `structure` channels are (B, T) int32. `valid_token_count` is (B,) int32.
    `RowDocuments` describes `target_ids` to `cu_seqlens`. The remaining fields are set only if the rows were opened
    with them: `symbols` has the four symbol channels, (B, T) uint32; `changes` has the four channels of what a commit
    changed, (B, T) int32; `chunks` has the chunks; `platforms` (B, max(128, T // 32), MAX_PLATFORM_IDS) int32 has the
    platforms of each document of the row, ascending and padded with 0.
    """

    input_ids: NDArray[np.int32]
    target_ids: NDArray[np.int32]
    loss_mask: NDArray[np.bool_]
    doc_ids: NDArray[np.int32]
    segment_ids: NDArray[np.int32]
    cu_seqlens: NDArray[np.int32]
    valid_token_count: NDArray[np.int32]
    structure: Mapping[str, NDArray[np.int32]]
    roles: NDArray[np.int32]
    symbols: Mapping[str, NDArray[np.uint32]] = field(default_factory=dict)
    changes: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    chunks: ChunkBatch | None = None
    platforms: NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True)
class DocumentPlatforms:
    """The platforms of documents. Row r has the documents [first[r], first[r + 1]); `ids` has the platforms of each."""

    first: NDArray[np.int64]
    ids: NDArray[Any]

    def of(self, rows: NDArray[np.int64], row_tokens: int) -> NDArray[np.int32]:
        """Return `RowBatch.platforms` of the rows `rows`. Raises `IndexCorrupt` if a row has too many documents."""
        out = np.zeros((len(rows), fixed_max_chunks(row_tokens), MAX_PLATFORM_IDS), np.int32)
        for line, row in enumerate(rows.tolist()):
            start, end = int(self.first[row]), int(self.first[row + 1])
            if end - start > out.shape[1]:
                where, do = f"documents of row {row}", "rerun packed_rows"
                raise IndexCorrupt(where, expected=f"at most {out.shape[1]}", found=end - start, do=do)
            out[line, : end - start] = self.ids[start:end]
        return out


@dataclass(frozen=True, slots=True)
class PackedRows:
    """The rows of one split. Token t of row r is `tokens[starts[r] + t]`. Each channel has one value per token."""

    row_tokens: int
    starts: NDArray[np.int64]
    tokens: NDArray[Any]
    channels: Mapping[str, Channel]
    chunk_files: ChunkFiles | None = None
    platforms: DocumentPlatforms | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    def batch(self, rows: NDArray[np.int64] | Sequence[int]) -> RowBatch:
        """Return the rows with the numbers `rows`, in that order.

        Raises `IndexError` if a row does not exist, and `SpecError` for other values than whole numbers: the values of
        a mask would be read as rows 0 and 1.
        """
        rows = _row_numbers(rows)
        input_ids = self._lines(ChannelValues(self.tokens), rows, PAD_ID)
        valid = (self.starts[rows + 1] - self.starts[rows]).astype(np.int32)
        documents = row_documents(input_ids, valid)
        channels = {
            name: self._lines(channel, rows, PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[SIDE_CHANNELS[name]])
            for name, channel in self.channels.items()
        }
        structure = {name: channels[name] for name in STRUCTURE_CHANNELS if name in channels}
        symbols = {name: channels[name].view(np.uint32) for name in SYMBOL_CHANNELS if name in channels}
        changes = {name: channels[name] for name in CHANGE_CHANNELS if name in channels}
        chunks = None if self.chunk_files is None else chunk_batch(self.chunk_files, rows, documents.doc_ids)
        platforms = None if self.platforms is None else self.platforms.of(rows, self.row_tokens)
        return RowBatch(input_ids, *documents, valid, structure, channels[ROLES], symbols, changes, chunks, platforms)

    def _lines(self, channel: Channel, rows: NDArray[np.int64], fill: int) -> NDArray[np.int32]:
        out = np.empty((len(rows), self.row_tokens), np.int32)
        channel.into(out, rows, self.starts, fill)
        return out


def _row_numbers(rows: object) -> NDArray[np.int64]:
    numbers = np.asarray(rows)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise SpecError(
            "rows of a batch",
            expected="a list or a vector of row numbers",
            found=f"{numbers.ndim} dimensions of {numbers.dtype}",
            do="write [row] for one row, and np.flatnonzero(mask) for the rows of a mask",
        )
    return numbers.astype(np.int64, copy=False)


def open_rows(
    artifact: Artifact,
    dataset: str,
    split: str = TRAIN_SPLIT,
    *,
    symbols: bool = False,
    changes: bool = False,
    chunks: bool = False,
    platforms: bool = False,
) -> PackedRows:
    """Map the rows of `split` of a Megatron artifact.

    `symbols`, `changes`, `chunks` and `platforms` say which of these are opened too.

    Raises:
        LineageGap: a file differs from the manifest.
        IndexCorrupt: files contradict each other. The index is malformed, the token type or the length of a file is
            wrong, or rows overlap, are longer than T, or do not begin with BOS.
    """
    prefix = files.prefix_name(dataset, split)
    record_file = artifact.file(prefix + files.SIDECAR_RECORD)
    record = SidecarRecord.from_bytes(record_file.read_bytes(), f"{artifact.path}/{record_file.name}")
    pair = open_pair(artifact, prefix)
    _require(prefix, "token type", np.dtype(record.token_dtype), pair.tokens.dtype)
    _require(prefix, "tokens", record.tokens, len(pair.tokens))
    first = _mapped(artifact.file(record.rows_path), np.dtype("<i8"), record.rows + 1)
    covered = first[0] == 0 and first[-1] == pair.sequences and bool((np.diff(first) > 0).all())
    _require(record.rows_path, f"rows that cover sequences 0 to {pair.sequences} once", True, covered)
    starts = token_starts(pair, first)
    longest = int(np.diff(starts).max(initial=0))
    _require(record.rows_path, f"a longest row within {record.row_tokens} tokens", True, longest <= record.row_tokens)
    _require(record.rows_path, "BOS at the start of every row", True, bool((pair.tokens[starts[:-1]] == BOS_ID).all()))
    channels = {
        channel: open_channel(artifact.file(record.side_channel_paths[channel]), record, channel)
        for channel in SIDE_CHANNELS
        if (symbols or channel not in SYMBOL_CHANNELS) and (changes or channel not in CHANGE_CHANNELS)
    }
    chunk_files = _mapped_chunks(artifact, record) if chunks else None
    document_platforms = None
    if platforms:
        document_platforms = DocumentPlatforms(first, map_platforms(artifact.file(record.platforms_path), record))
    return PackedRows(record.row_tokens, starts, pair.tokens, channels, chunk_files, document_platforms)


def _mapped_chunks(artifact: Artifact, record: SidecarRecord) -> ChunkFiles:
    places: set[Path] = {artifact.file(name).parent for name in record.chunk_paths.values()}
    (folder,) = places
    return map_chunks(folder, record)


def _mapped(path: Path, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """Map the file read-only. Raises `IndexCorrupt` unless it has exactly `count` values."""
    _require(path.name, f"size of {count} values of {dtype}", count * dtype.itemsize, path.stat().st_size)
    return mapped(path, dtype, count)


def _require(where: str, what: str, expected: object, found: object) -> None:
    if expected != found:
        raise IndexCorrupt(f"{where}, {what}", expected=expected, found=found, do="rerun megatron_bin_idx")
