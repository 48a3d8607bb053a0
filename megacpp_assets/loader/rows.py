"""Packed rows of a Megatron artifact as fixed-shape batches, straight from memory maps.

A row is the documents [first, next) of the rows file, end to end, padded to T. Nothing is decoded or copied but the
rows asked for, and every batch has the same keys, shapes and dtypes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.columns import PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES, STRUCTURE_CHANNELS
from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.contract.megatron_files import SidecarRecord
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.contract.specials import BOS_ID, PAD_ID
from megacpp_assets.storage.artifact import Artifact

_HEADER = struct.Struct("<9sQBQQ")
_MAGIC = b"MMIDIDX\x00\x00"
_INT32_CODE = 4


@dataclass(frozen=True, slots=True)
class RowBatch:
    """B rows of T tokens. Pads carry PAD, the last document's id, no loss, and each channel's fill value.

    `input_ids`, `target_ids`, `doc_ids` and the five `structure` channels are (B, T) int32, `loss_mask` is (B, T) bool,
    `valid_token_count` is (B,) int32. `doc_ids` is cumsum(BOS) - 1 of the row (seed 002).
    """

    input_ids: NDArray[np.int32]
    target_ids: NDArray[np.int32]
    loss_mask: NDArray[np.bool_]
    doc_ids: NDArray[np.int32]
    valid_token_count: NDArray[np.int32]
    structure: Mapping[str, NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class PackedRows:
    """The rows of one split. Token `t` of row `r` is `tokens[starts[r] + t]`, and so in every channel."""

    row_tokens: int
    starts: NDArray[np.int64]
    tokens: NDArray[np.int32]
    channels: Mapping[str, NDArray[np.generic]]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def batch(self, rows: NDArray[np.int64]) -> RowBatch:
        """The rows numbered `rows`, in that order. Raises IndexError beyond the last."""
        valid = (self.starts[rows + 1] - self.starts[rows]).astype(np.int32)
        input_ids = self._gather(self.tokens, rows, PAD_ID)
        doc_ids = np.cumsum(input_ids == BOS_ID, axis=1, dtype=np.int32) - 1
        target_ids = np.full_like(input_ids, PAD_ID)
        target_ids[:, :-1] = input_ids[:, 1:]
        loss_mask = np.zeros(input_ids.shape, dtype=np.bool_)
        loss_mask[:, :-1] = doc_ids[:, :-1] == doc_ids[:, 1:]
        loss_mask &= np.arange(1, self.row_tokens + 1) < valid[:, None]
        structure = {
            channel: self._gather(values, rows, PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[STRUCTURE_CHANNELS[channel]])
            for channel, values in self.channels.items()
        }
        return RowBatch(input_ids, target_ids, loss_mask, doc_ids, valid, structure)

    def _gather(self, values: NDArray[np.generic], rows: NDArray[np.int64], fill: int) -> NDArray[np.int32]:
        out = np.full((len(rows), self.row_tokens), fill, dtype=np.int32)
        for line, row in zip(out, rows, strict=True):
            found = values[self.starts[row] : self.starts[row + 1]]
            line[: len(found)] = found
        return out


def open_rows(artifact: Artifact, dataset: str, split: str = TRAIN_SPLIT) -> PackedRows:
    """Map the rows of `split` of a Megatron artifact.

    Raises `IndexCorrupt` where its files contradict each other: another token width, a file of another length than the
    tokens, rows that overlap, are longer than T, or do not begin with BOS.
    """
    prefix = files.prefix_name(dataset, split)
    record_file = artifact.file(prefix + files.SIDECAR_RECORD)
    record = SidecarRecord.from_bytes(record_file.read_bytes(), f"{artifact.path}/{record_file.name}")
    offsets = _sequence_offsets(artifact.file(prefix + files.IDX))
    tokens = _mapped(artifact.file(prefix + files.BIN), np.dtype("<i4"), int(offsets[-1]))
    first = _mapped(artifact.file(record.rows_path), np.dtype("<i8"), record.rows + 1)
    _require_rows(first, len(offsets) - 1, artifact.path)
    starts = offsets[first]
    channels = {
        channel: _mapped(
            artifact.file(record.side_channel_paths[channel]),
            np.dtype(record.side_channel_dtypes[channel]).newbyteorder("<"),
            len(tokens),
        )
        for channel in STRUCTURE_CHANNELS
    }
    longest = int(np.diff(starts).max(initial=0))
    if longest > record.row_tokens:
        raise IndexCorrupt(f"{artifact.path}: rows", expected=f"at most {record.row_tokens} tokens", found=longest)
    if record.rows and not bool((tokens[starts[:-1]] == BOS_ID).all()):
        raise IndexCorrupt(f"{artifact.path}: rows", expected="BOS at the start of every row", found="another token")
    return PackedRows(record.row_tokens, starts, tokens, channels)


def _require_rows(first: NDArray[np.int64], sequences: int, where: str) -> None:
    """Rows are non-empty, in order, and cover all sequences."""
    if first[0] != 0 or first[-1] != sequences or not bool((np.diff(first) > 0).all()):
        raise IndexCorrupt(
            f"{where}: rows", expected=f"sequences 0 to {sequences}, each once", found=first[:4].tolist()
        )


def _sequence_offsets(path: Path) -> NDArray[np.int64]:
    """Token offset of each sequence and, last, of the end: shape (sequences + 1,)."""
    with path.open("rb") as file:
        header = file.read(_HEADER.size)
    if len(header) != _HEADER.size:
        raise IndexCorrupt(path.name, expected=f"a header of {_HEADER.size} bytes", found=f"{len(header)} bytes")
    magic, version, code, sequences, documents = _HEADER.unpack(header)
    if (magic, version, code) != (_MAGIC, 1, _INT32_CODE) or documents != sequences + 1:
        raise IndexCorrupt(
            path.name,
            expected="MMIDIDX 1 of int32 tokens, one sequence a document",
            found=f"{magic!r} {version}, code {code}, {sequences} sequences, {documents} document ends",
        )
    if path.stat().st_size != _HEADER.size + 12 * sequences + 8 * documents:
        size = path.stat().st_size
        raise IndexCorrupt(path.name, expected=f"an index of {sequences} sequences", found=f"{size} bytes")
    lengths = np.fromfile(path, dtype="<i4", count=sequences, offset=_HEADER.size)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _mapped(path: Path, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """The file as a read-only map of exactly `count` values."""
    if path.stat().st_size != count * dtype.itemsize:
        raise IndexCorrupt(path.name, expected=f"{count} values of {dtype}", found=f"{path.stat().st_size} bytes")
    return np.memmap(path, dtype, "r") if count else np.zeros(0, dtype)
