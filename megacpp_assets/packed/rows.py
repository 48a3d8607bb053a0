"""Gathers documents into packed rows: a spool and a range of rows of the plan come in, a PACKED table comes out.

A row has exactly T tokens, and padding has the fill value of each column. Spans of chunks are shifted by the position
of their document's first token in the row, and edges by the index of its first chunk (docs/contracts.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.schemas import PACKED, TOKEN_EDGE
from megacpp_assets.contract.tokens.specials import BOS_ID, FIM_MARKS, PAD_ID
from megacpp_assets.packed import _gather
from megacpp_assets.packed.spools.spool import EDGE_FROM, EDGE_GROUPS, EDGE_TO, Lists, Spool
from megacpp_assets.storage.ragged import list_array


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Consecutive rows: row `first_row + r` has documents[offsets[r]:offsets[r + 1]], indices into the spool."""

    first_row: int
    documents: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    def sums(self, per_document: NDArray[Any]) -> NDArray[np.int64]:
        """Return the sum per row of a quantity per document, shape (rows,)."""
        running = np.concatenate([[0], np.cumsum(per_document)])
        return np.asarray(running[self.offsets[1:]] - running[self.offsets[:-1]])

    def bases(self, per_document: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for each document, the sum of a quantity over the earlier documents of its row, shape
        (documents,).
        """
        running = np.cumsum(per_document) - per_document
        return np.asarray(running - np.repeat(running[self.offsets[:-1]], np.diff(self.offsets)))


@dataclass(frozen=True, slots=True)
class RowBuffers:
    """Reusable arrays for up to `rows` rows of `row_tokens` tokens. Each table overwrites the one before.

    The operating system clears the pages of new arrays, which takes twice as long as writing the rows into them.
    """

    rows: int
    row_tokens: int
    _arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def array(self, column: str, rows: int) -> NDArray[Any]:
        """Return an array (rows, T) for a token-aligned column of PACKED.

        It still has the values of the table before.
        """
        if column not in self._arrays:
            dtype = PACKED.field(column).type.value_type.to_pandas_dtype()
            self._arrays[column] = np.empty((self.rows, self.row_tokens), dtype)
        return self._arrays[column][:rows]


def gather_rows(spool: Spool, block: RowBlock, buffers: RowBuffers) -> pa.Table:
    """Return the packed rows of `block` with the schema PACKED. The table is valid until `buffers` is used again."""
    row_tokens = buffers.row_tokens
    lengths = spool.tokens.lengths(block.documents)
    valid = block.sums(lengths)
    tokens = _token_columns(spool, block, valid, buffers)
    columns = {
        c.PACK_ID: np.arange(block.first_row, block.first_row + block.rows),
        c.VALID_TOKEN_COUNT: valid,
        c.NUM_DOCS: np.diff(block.offsets),
        c.TRAINED_TOKEN_COUNT: tokens[c.LOSS_MASK].sum(axis=1, dtype=np.int64),
        c.SLACK_TOKENS: row_tokens - valid,
    }
    arrays = {
        name: pa.array(values.astype(PACKED.field(name).type.to_pandas_dtype())) for name, values in columns.items()
    }
    arrays |= {name: _fixed_lists(values, name) for name, values in tokens.items()}
    arrays |= _chunk_columns(spool, block, lengths)
    arrays |= {row: list_array(block.offsets, spool.strings(name, block.documents)) for name, row in c.CARRIED.items()}
    arrays[c.SOURCE_DOC_TOKEN_LENGTHS] = list_array(block.offsets, pa.array(lengths.astype(np.int32)))
    platforms = spool.platforms(block.documents)
    arrays[c.SOURCE_PLATFORM_IDS] = list_array(block.offsets * platforms.shape[1], pa.array(platforms.reshape(-1)))
    return pa.Table.from_arrays([arrays[name] for name in PACKED.names], schema=PACKED)


def _token_columns(
    spool: Spool, block: RowBlock, valid: NDArray[np.int64], buffers: RowBuffers
) -> dict[str, NDArray[Any]]:
    """Return every token-aligned column as an array of shape (rows, T)."""

    def dense(source: str, fill: int, column: str) -> NDArray[Any]:
        out = buffers.array(column, block.rows)
        spool.tokens.take_rows(source, block.documents, block.offsets, fill=fill, out=out)
        return out

    inputs = dense(c.TOKEN_IDS_COLUMN, PAD_ID, c.INPUT_IDS)
    derived = {name: buffers.array(name, block.rows) for name in (c.TARGET_IDS, c.LOSS_MASK, c.DOC_IDS)}
    # The native function takes int32; token and document ids are below 2**31, so the bytes are the same.
    signed = [values.view(np.int32) for values in (inputs, derived[c.TARGET_IDS], derived[c.DOC_IDS])]
    mask = derived[c.LOSS_MASK].view(np.bool_)
    _gather.documents(signed[0], valid, BOS_ID, PAD_ID, signed[1], mask, signed[2])
    columns = {c.INPUT_IDS: inputs, **derived}
    # A fill-in-the-middle mark has no character. Like padding, it has the fill value of each column.
    marks = np.isin(inputs, FIM_MARKS) if spool.rearranged else None
    for name in c.TOKEN_METADATA_COLUMNS:
        columns[name] = dense(name, c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[name], name)
        if marks is not None:
            columns[name][marks] = c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[name]
    return columns


def _chunk_columns(spool: Spool, block: RowBlock, lengths: NDArray[np.int64]) -> dict[str, pa.ListArray]:
    counts = spool.chunks.lengths(block.documents)
    offsets = _row_offsets(block, counts)
    token_bases = np.repeat(block.bases(lengths), counts)
    arrays = {}
    for name, column in spool.chunks.columns.items():
        shift = token_bases if name in (c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN) else 0
        values = spool.chunks.take(name, block.documents) + shift
        arrays[name] = list_array(offsets, pa.array(values.astype(column.dtype)))
    for name in EDGE_GROUPS:
        arrays[name] = _edge_column(spool.groups[name], block, block.bases(counts))
    return arrays


def _edge_column(edges: Lists, block: RowBlock, chunk_bases: NDArray[np.int64]) -> pa.ListArray:
    counts = edges.lengths(block.documents)
    shift = np.repeat(chunk_bases, counts)
    taken = [edges.take(end, block.documents) + shift for end in (EDGE_FROM, EDGE_TO)]
    ends = [pa.array(values.astype(np.uint16)) for values in taken]
    return list_array(_row_offsets(block, counts), pa.StructArray.from_arrays(ends, fields=list(TOKEN_EDGE)))


def _row_offsets(block: RowBlock, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(block.sums(counts))])


def _fixed_lists(values: NDArray[Any], name: str) -> pa.ListArray:
    rows, width = values.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.reshape(-1)), type=PACKED.field(name).type)
