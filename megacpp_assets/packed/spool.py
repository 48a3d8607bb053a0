"""Enriched documents on disk as flat columns: any document of any shard is a slice away, in a few bytes of memory each.

A spool is a folder of mapped files, one value after the other over all documents, and a record of their types.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.packed import _gather
from megacpp_assets.storage.ragged import padded

EDGE_FROM: Final = "from"
EDGE_TO: Final = "to"

TOKEN_GROUP: Final = (c.TOKEN_IDS_COLUMN, *c.TOKEN_METADATA_COLUMNS)
CHUNK_GROUP: Final = (
    c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN, c.TOKEN_CHUNK_KINDS_COLUMN, c.TOKEN_CHUNK_DEP_LEVELS_COLUMN,
)  # fmt: skip
EDGE_GROUPS: Final = (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN)
STRING_GROUPS: Final = (c.DOC_ID, c.REPO)
COLUMNS: Final = (*STRING_GROUPS, c.PLATFORM_IDS, *TOKEN_GROUP, *CHUNK_GROUP, *EDGE_GROUPS)

RECORD_FILE: Final = "spool.json"
OFFSETS_FILE: Final = "offsets"


def file_of(group: str, column: str) -> str:
    """Name of the file of a column of a group, or of its `OFFSETS_FILE`."""
    return f"{group}.{column}"


class Values(Protocol):
    """The values of one column over all documents."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""

    @property
    def halves(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All values: the first of them, and those that lie elsewhere and count on from there."""

    def release(self) -> None:
        """Let go of the pages that were read."""


class Column:
    """Values of one column in a mapped file."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._map: mmap.mmap | None = None
        self._values: NDArray[Any] = np.empty(0, dtype)
        if path.stat().st_size:  # an empty file cannot be mapped
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._values = np.frombuffer(self._map, dtype=dtype)

    @property
    def halves(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All values, and none."""
        return self._values, self._values[:0]

    def release(self) -> None:
        """The pages stay in the system's cache, but no longer count as this process's memory."""
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True, slots=True)
class JoinedColumn:
    """The values of one column, and behind them those of another; no document is of both."""

    first: Values
    second: Values

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.first.dtype

    @property
    def halves(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The values of both columns."""
        return self.first.halves[0], self.second.halves[0]

    def release(self) -> None:
        """Let go of the pages that were read."""
        self.first.release()
        self.second.release()


@dataclass(frozen=True, slots=True)
class Lists:
    """Columns that share their boundaries: document i has values [offsets[i], offsets[i + 1]) of each column."""

    offsets: NDArray[np.int64]
    columns: Mapping[str, Values]

    def lengths(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of values of each of `documents`."""
        return np.asarray(self.offsets[documents + 1] - self.offsets[documents])

    def take(self, column: str, documents: NDArray[np.int64]) -> NDArray[Any]:
        """The values of `column` for `documents`, document after document, copied."""
        found = np.empty((1, int(self.lengths(documents).sum())), self.columns[column].dtype)
        self.take_rows(column, documents, np.array([0, len(documents)]), fill=0, out=found)
        return np.asarray(found[0])

    def take_rows(
        self, column: str, documents: NDArray[np.int64], row_offsets: NDArray[np.int64], *, fill: int, out: NDArray[Any]
    ) -> None:
        """Write into row r of `out`, (rows, T), the values of documents[row_offsets[r]:row_offsets[r + 1]], one
        document after the other, and `fill` behind them."""
        values = self.columns[column]
        _gather.rows(*values.halves, self.offsets[documents], self.offsets[documents + 1], row_offsets, fill, out)
        values.release()


@dataclass(frozen=True, slots=True)
class Spool:
    """Documents in source order. `groups` holds tokens and chunks under the name of their first column, edges, strings
    and platforms under their own; `boundaries[r]` is the first document of source r, and the last entry the document
    count.
    """

    groups: Mapping[str, Lists]
    boundaries: NDArray[np.int64]

    @property
    def tokens(self) -> Lists:
        """Token ids and all per-token columns."""
        return self.groups[TOKEN_GROUP[0]]

    @property
    def chunks(self) -> Lists:
        """Chunk starts, ends, kinds and dep levels."""
        return self.groups[CHUNK_GROUP[0]]

    def platforms(self, documents: NDArray[np.int64]) -> NDArray[Any]:
        """(documents, MAX_PLATFORM_IDS) platforms of `documents`, ascending, padded with 0."""
        group = self.groups[c.PLATFORM_IDS]
        return padded(group.take(c.PLATFORM_IDS, documents), group.lengths(documents), MAX_PLATFORM_IDS)

    @property
    def documents(self) -> int:
        """Number of documents of all sources."""
        return int(self.boundaries[-1])

    @property
    def rearranged(self) -> int:
        """Number of documents that belong to no source: those that fill-in-the-middle rearranged."""
        return len(self.tokens.offsets) - 1 - self.documents

    def strings(self, column: str, documents: NDArray[np.int64]) -> pa.StringArray:
        """The strings of `column` for `documents`."""
        group = self.groups[column]
        data = group.take(column, documents)
        offsets = np.concatenate([[0], np.cumsum(group.lengths(documents))]).astype(np.int32)
        return pa.StringArray.from_buffers(len(documents), pa.py_buffer(offsets), pa.py_buffer(data))

    def name(self, document: int) -> str:
        """A document as a person would look it up: repository and id."""
        one = np.array([document])
        return f"document {self.strings(c.REPO, one)[0]}:{self.strings(c.DOC_ID, one)[0]}"


def open_spool(directory: Path) -> Spool:
    """The spool that lies in `directory`, mapped."""
    record = orjson.loads((directory / RECORD_FILE).read_bytes())
    groups = {
        group: Lists(
            np.asarray(np.memmap(directory / file_of(group, OFFSETS_FILE), np.int64, "r")),
            {name: Column(directory / file_of(group, name), np.dtype(kind)) for name, kind in columns.items()},
        )
        for group, columns in record["types"].items()
    }
    return Spool(groups, np.array(record["boundaries"], dtype=np.int64))


def joined(first: Spool, second: Spool) -> Spool:
    """The documents of `first`, and behind them those of `second`, which belong to no source."""
    groups = {
        name: Lists(
            np.concatenate([one.offsets, one.offsets[-1] + second.groups[name].offsets[1:]]),
            {key: JoinedColumn(column, second.groups[name].columns[key]) for key, column in one.columns.items()},
        )
        for name, one in first.groups.items()
    }
    return Spool(groups, first.boundaries)
