"""Chunks and edges of packed rows as flat sidecar files of a Megatron prefix: `<prefix>.chunks.<part>.bin`.

The part `rows` has the number of each row's first chunk, and at the end the number of chunks. `starts` and `ends`
(token positions within the row), `kinds` and `dep_levels` have one value per chunk. Edges are pairs of chunk indices
within their row; each kind of edge has its own `<name>.rows`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import IndexCorrupt
from megacpp_assets.contract.megatron_files import CHUNK_PARTS, CHUNK_ROWS, SidecarRecord
from megacpp_assets.contract.names import fixed_max_chunks
from megacpp_assets.megatron.pair.index_format import ROW_DTYPE
from megacpp_assets.megatron.pair.reader import blocks, mapped
from megacpp_assets.storage.ragged import list_array

EDGE_DTYPE: Final = np.dtype("<u2")
VALUES: Final[dict[str, tuple[str, np.dtype[Any]]]] = {
    "starts": (c.TOKEN_CHUNK_STARTS_COLUMN, np.dtype("<u4")),
    "ends": (c.TOKEN_CHUNK_ENDS_COLUMN, np.dtype("<u4")),
    "kinds": (c.TOKEN_CHUNK_KINDS_COLUMN, np.dtype("u1")),
    "dep_levels": (c.TOKEN_CHUNK_DEP_LEVELS_COLUMN, np.dtype("<u2")),
}
"""Part -> (packed column that it is made from, type)."""
EDGES: Final = {"call_edges": c.TOKEN_CALL_EDGES_COLUMN, "type_edges": c.TOKEN_TYPE_EDGES_COLUMN}
_ROWS_AT_ONCE: Final = 256


class ChunkWriter:
    """Appends the chunks of packed rows to open files, one file for each of `CHUNK_PARTS`."""

    def __init__(self, files: Mapping[str, BinaryIO]) -> None:
        self._files = files
        self.counts = dict.fromkeys(("chunks", *EDGES), 0)

    def append(self, rows: pa.Table) -> None:
        """Add the rows of a table with `PACKED_ROWS_CHUNK_METADATA_COLUMNS`."""
        columns = {name: rows[name].combine_chunks() for name in c.PACKED_ROWS_CHUNK_METADATA_COLUMNS}
        self._add_rows(CHUNK_ROWS, "chunks", columns[c.TOKEN_CHUNK_STARTS_COLUMN])
        for part, (name, dtype) in VALUES.items():
            self._files[part].write(np.ascontiguousarray(columns[name].flatten().to_numpy(), dtype=dtype).data)
        for part, name in EDGES.items():
            self._add_rows(f"{part}.{CHUNK_ROWS}", part, columns[name])
            ends = columns[name].flatten()
            pairs = np.stack([ends.field(side).to_numpy() for side in (0, 1)], axis=1)
            self._files[part].write(np.ascontiguousarray(pairs, dtype=EDGE_DTYPE).data)

    def finish(self) -> None:
        """Write the last entry of each file of row starts: the total count."""
        for part, count in ((CHUNK_ROWS, "chunks"), *((f"{name}.{CHUNK_ROWS}", name) for name in EDGES)):
            self._files[part].write(np.array([self.counts[count]], dtype=ROW_DTYPE).data)

    def _add_rows(self, part: str, count: str, column: pa.ListArray) -> None:
        offsets = column.offsets.to_numpy().astype(ROW_DTYPE)
        self._files[part].write((offsets[:-1] - offsets[0] + self.counts[count]).astype(ROW_DTYPE).data)
        self.counts[count] += int(offsets[-1] - offsets[0])


@dataclass(frozen=True, slots=True)
class ChunkLists:
    """Chunks and edges of some rows, one row after the other.

    Row r has the entries [offsets[r], offsets[r + 1]) of each part of `values`. `edges` maps a part to (offsets by row,
    pairs of chunk indices of shape (n, 2)).
    """

    offsets: NDArray[np.int64]
    values: Mapping[str, NDArray[Any]]
    edges: Mapping[str, tuple[NDArray[np.int64], NDArray[Any]]]

    def table(self) -> pa.Table:
        """Return the rows as a table with `PACKED_ROWS_CHUNK_METADATA_COLUMNS`."""
        arrays = {name: list_array(self.offsets, pa.array(self.values[part])) for part, (name, _) in VALUES.items()}
        for part, name in EDGES.items():
            offsets, pairs = self.edges[part]
            sides = [pa.array(np.ascontiguousarray(pairs[:, side])) for side in (0, 1)]
            arrays[name] = list_array(offsets, pa.StructArray.from_arrays(sides, names=["from", "to"]))
        return pa.table({name: arrays[name] for name in c.PACKED_ROWS_CHUNK_METADATA_COLUMNS})


@dataclass(frozen=True, slots=True)
class ChunkFiles:
    """The mapped parts.

    Row r has the chunks [rows[r], rows[r + 1]), and its edges likewise. Edges have shape (n, 2).
    """

    parts: Mapping[str, NDArray[Any]]

    def lists(self, rows: NDArray[np.int64]) -> ChunkLists:
        """Return the chunks and edges of the rows with the numbers `rows`, in that order."""
        offsets, places = _places(self.parts[CHUNK_ROWS], rows)
        edges = {}
        for part in EDGES:
            firsts, pairs = _places(self.parts[f"{part}.{CHUNK_ROWS}"], rows)
            edges[part] = firsts, self.parts[part][pairs]
        return ChunkLists(offsets, {part: self.parts[part][places] for part in VALUES}, edges)


def map_chunks(folder: Path, record: SidecarRecord) -> ChunkFiles:
    """Map the chunk files that `record` names in `folder`. Only their sizes are checked.

    Raises `IndexCorrupt` if a file is missing or its size does not match its count.
    """
    parts: dict[str, NDArray[Any]] = {}
    for part in CHUNK_PARTS:
        dtype, count = _shape(part, record)
        values = _map(folder / record.chunk_paths[part], dtype, count)
        parts[part] = values.reshape(-1, 2) if part in EDGES else values
    return ChunkFiles(parts)


def verify_chunks(found: ChunkFiles, record: SidecarRecord) -> None:
    """Raise `IndexCorrupt`, which names the part, if a chunk file breaks a rule.

    Row starts must rise from 0 to the count. A row has at most max(128, T / 32) chunks. Spans must lie in the row, with
    increasing starts. Edges must be between chunks of their row.
    """
    for part, count in ((CHUNK_ROWS, "chunks"), *((f"{name}.{CHUNK_ROWS}", name) for name in EDGES)):
        values, total = found.parts[part], record.chunk_counts[count]
        rising = all(bool((np.diff(values[each.start : each.stop + 1]) >= 0).all()) for each in blocks(record.rows))
        _require(record, part, rising and values[0] == 0 and values[-1] == total, f"rows that rise from 0 to {total}")
    most = int(np.diff(found.parts[CHUNK_ROWS]).max(initial=0))
    _require(record, CHUNK_ROWS, most <= fixed_max_chunks(record.row_tokens), "at most max(128, T / 32) chunks per row")
    _require(record, "starts", _are_valid_spans(found, record.row_tokens), "spans in the row, with increasing starts")
    for name in EDGES:
        _require(record, name, _edges_are_inside(found, name), "edges between chunks of their row")


def _are_valid_spans(found: ChunkFiles, row_tokens: int) -> bool:
    starts, ends, rows = (found.parts[part] for part in ("starts", "ends", CHUNK_ROWS))
    is_first_of_row = np.zeros(len(starts) + 1, dtype=np.bool_)
    is_first_of_row[rows] = True
    for part in blocks(len(starts)):
        begin, end = starts[part].astype(np.int64), ends[part].astype(np.int64)
        # Each start is compared with the one before, which for the first of a block is in the block before.
        before = starts[max(0, part.start - 1) : part.stop].astype(np.int64)
        rises = np.diff(before) > 0 if part.start else np.append(True, np.diff(before) > 0)
        if not ((begin < end) & (end <= row_tokens) & (rises | is_first_of_row[part])).all():
            return False
    return True


def _edges_are_inside(found: ChunkFiles, name: str) -> bool:
    chunks, edges = found.parts[CHUNK_ROWS], found.parts[f"{name}.{CHUNK_ROWS}"]
    for part in blocks(len(edges) - 1, _ROWS_AT_ONCE):
        first, end = edges[part.start], edges[part.stop]
        limits = np.repeat(np.diff(chunks[part.start : part.stop + 1]), np.diff(edges[part.start : part.stop + 1]))
        if not (found.parts[name][first:end] < limits[:, None]).all():
            return False
    return True


def _shape(part: str, record: SidecarRecord) -> tuple[np.dtype[Any], int]:
    if part.endswith(CHUNK_ROWS):
        return ROW_DTYPE, record.rows + 1
    if part in EDGES:
        return EDGE_DTYPE, 2 * record.chunk_counts[part]
    return VALUES[part][1], record.chunk_counts["chunks"]


def _places(first: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (offsets of the rows in the result, positions of their values in the file).

    `first` has the position of each row's first value, and the number of values at the end.
    """
    lengths = first[rows + 1] - first[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return offsets, np.arange(offsets[-1]) + np.repeat(first[rows] - offsets[:-1], lengths)


def _map(path: Path, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    size = path.stat().st_size if path.is_file() else "no such file"
    if size != count * dtype.itemsize:
        expected = f"{count} values of {dtype.itemsize} bytes"
        raise IndexCorrupt(path.name, expected=expected, found=size, do="rerun megatron_bin_idx")
    return mapped(path, dtype, count)


def _require(record: SidecarRecord, part: str, holds: bool, expected: str) -> None:
    if not holds:
        raise IndexCorrupt(
            record.chunk_paths[part], expected=expected, found="values that break the rule", do="rerun megatron_bin_idx"
        )
