"""Writes all files of a prefix at the same time: the pair, channels, row starts, chunks and the document list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.schemas import MEGATRON_DOCUMENTS
from megacpp_assets.megatron.pair.writer import BinIdxWriter, open_writer
from megacpp_assets.megatron.sidecars.channels import ChannelWriter
from megacpp_assets.megatron.sidecars.chunks import ChunkWriter
from megacpp_assets.megatron.sidecars.sidecars import PLATFORM_DTYPE, RowStarts
from megacpp_assets.storage.parquet import RowGroupWriter
from megacpp_assets.storage.publish import PendingFile

Open = Callable[[str], AbstractContextManager[PendingFile]]
"""A function from a suffix to a context with the file to write."""


@dataclass(frozen=True, slots=True)
class UnpaddedRows:
    """A block of rows without padding, document after document.

    `tokens` and each of `channels` have shape (tokens,), `lengths` (documents,), `documents_per_row` and
    `tokens_per_row` (rows,), and `platforms` (documents, MAX_PLATFORM_IDS). `chunks` is a table with
    `PACKED_ROWS_CHUNK_METADATA_COLUMNS`. `modes` has one value per document of a multimodal pair, else it is None.
    """

    tokens: NDArray[Any]
    lengths: NDArray[np.int32]
    documents_per_row: NDArray[np.int64]
    tokens_per_row: NDArray[np.int64]
    channels: Mapping[str, NDArray[Any]]
    chunks: pa.Table
    platforms: NDArray[Any]
    modes: NDArray[np.int8] | None = None


@dataclass(frozen=True, slots=True)
class MegatronTotals:
    """The totals of the files of a prefix."""

    documents: int = 0
    tokens: int = 0
    rows: int = 0
    chunk_counts: Mapping[str, int] = field(default_factory=dict)
    channel_dtypes: Mapping[str, str] = field(default_factory=dict)
    channel_runs: Mapping[str, int] = field(default_factory=dict)

    def record(self, prefix: str, row_tokens: int, token_dtype: str) -> files.SidecarRecord:
        """Return the record that describes the sidecars of the pair `prefix`."""
        return files.SidecarRecord(
            row_tokens=row_tokens,
            rows=self.rows,
            documents=self.documents,
            tokens=self.tokens,
            token_dtype=token_dtype,
            rows_path=prefix + files.ROWS,
            documents_path=prefix + files.DOCUMENTS,
            platforms_path=prefix + files.PLATFORMS,
            side_channel_paths={channel: prefix + files.channel_suffix(channel) for channel in c.SIDE_CHANNELS},
            side_channel_dtypes=self.channel_dtypes,
            side_channel_runs=self.channel_runs,
            chunk_paths={part: prefix + files.chunk_suffix(part) for part in files.CHUNK_PARTS},
            chunk_counts=self.chunk_counts,
        )


@dataclass(slots=True)
class Outputs:
    """The open files of a prefix. `open_outputs` creates it."""

    pair: BinIdxWriter
    pending: list[PendingFile]
    channels: dict[str, tuple[ChannelWriter, BinaryIO]]
    row_starts: RowStarts
    documents: RowGroupWriter
    chunks: ChunkWriter
    platforms: BinaryIO
    _listed: int = 0

    def write(self, rows: UnpaddedRows) -> None:
        """Append rows to all files except the list of documents."""
        self.pair.append(rows.tokens, rows.lengths, rows.modes)
        for channel, (writer, _) in self.channels.items():
            writer.append(rows.channels[channel], rows.tokens_per_row)
        self.row_starts.append(rows.documents_per_row)
        self.chunks.append(rows.chunks)
        self.platforms.write(np.ascontiguousarray(rows.platforms, dtype=PLATFORM_DTYPE).data)

    def write_documents(self, doc_ids: pa.Array, repos: pa.Array, lengths: NDArray[np.int32]) -> None:
        """Append documents to the list of documents, in the order of their rows."""
        numbers = pa.array(np.arange(self._listed, self._listed + len(lengths)))
        columns = [numbers, doc_ids, repos, pa.array(lengths)]
        self.documents.write(pa.Table.from_arrays(columns, schema=MEGATRON_DOCUMENTS))
        self._listed += len(lengths)

    def finish(self) -> MegatronTotals:
        """Write the last entries of the files and return the totals."""
        self.row_starts.finish()
        self.chunks.finish()
        for pending in self.pending:
            pending.rows = self.pair.documents
        written = {channel: writer.finish(file) for channel, (writer, file) in self.channels.items()}
        return MegatronTotals(
            self.pair.documents,
            self.pair.tokens,
            self.row_starts.rows,
            self.chunks.counts,
            channel_dtypes={channel: dtype.str for channel, (dtype, _) in written.items()},
            channel_runs={channel: runs for channel, (_, runs) in written.items() if runs is not None},
        )


def open_outputs(
    stack: ExitStack, opened: Open, vocabulary_size: int | None, *, code: int, row_tokens: int, multimodal: bool = False
) -> Outputs:
    """Open the files of a prefix with rows of `row_tokens` tokens; `stack` closes them.

    `code` is Megatron's code of the token type. Raises `SpecError` if the type is too narrow for the vocabulary.
    """

    def plain(suffix: str) -> BinaryIO:
        return stack.enter_context(stack.enter_context(opened(suffix)).path.open("wb"))

    pair = [stack.enter_context(opened(suffix)) for suffix in (files.BIN, files.IDX)]
    documents = stack.enter_context(opened(files.DOCUMENTS))
    folder = documents.path.parent
    return Outputs(
        pair=stack.enter_context(
            open_writer(pair[0].path, pair[1].path, vocabulary_size, code=code, multimodal=multimodal)
        ),
        pending=[*pair, documents],
        channels={
            channel: (ChannelWriter(stack, folder, row_tokens), plain(files.channel_suffix(channel)))
            for channel in c.SIDE_CHANNELS
        },
        row_starts=RowStarts(plain(files.ROWS)),
        documents=stack.enter_context(RowGroupWriter(documents.path, MEGATRON_DOCUMENTS)),
        platforms=plain(files.PLATFORMS),
        chunks=ChunkWriter({part: plain(files.chunk_suffix(part)) for part in files.CHUNK_PARTS}),
    )
