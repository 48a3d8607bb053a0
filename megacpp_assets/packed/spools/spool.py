"""A spool: enriched documents on disk as flat columns, for random access with a few bytes of memory per document.

A spool is a folder with a mapped file per column, which has the values of all documents one after the other, and a
record of the types. Columns that share their boundaries form a group with one file of offsets.
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
STRING_GROUPS: Final = tuple(c.CARRIED)
COLUMNS: Final = (*STRING_GROUPS, c.PLATFORM_IDS, *TOKEN_GROUP, *CHUNK_GROUP, *EDGE_GROUPS)

RECORD_FILE: Final = "spool.json"
OFFSETS_FILE: Final = "offsets"


def file_of(group: str, column: str) -> str:
    """Return the name of the file of a group's column, or of its offsets if `column` is `OFFSETS_FILE`."""
    return f"{group}.{column}"


class Values(Protocol):
    """The values of one column over all documents."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""

    @property
    def halves(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """(first values, second values). Indices continue from the first array into the second, which may be empty."""

    def release(self) -> None:
        """Remove the pages that were read from this process's memory."""


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
        """(all values, an empty array)."""
        return self._values, self._values[:0]

    def release(self) -> None:
        """Remove the pages that were read from this process's memory. They stay in the system's page cache."""
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True, slots=True)
class JoinedColumn:
    """The values of one column, followed by those of another. A document is entirely in one of them."""

    first: Values
    second: Values

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.first.dtype

    @property
    def halves(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """(values of the first column, values of the second one)."""
        return self.first.halves[0], self.second.halves[0]

    def release(self) -> None:
        """Remove the pages that were read from this process's memory."""
        self.first.release()
        self.second.release()


@dataclass(frozen=True, slots=True)
class Lists:
    """Columns with the same boundaries: document i has the values [offsets[i], offsets[i + 1]) of each column."""

    offsets: NDArray[np.int64]
    columns: Mapping[str, Values]

    def lengths(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of values of each of `documents`, shape (documents,)."""
        return np.asarray(self.offsets[documents + 1] - self.offsets[documents])

    def take(self, column: str, documents: NDArray[np.int64]) -> NDArray[Any]:
        """Return a copy of the values of `column` for `documents`, one document after the other."""
        found = np.empty((1, int(self.lengths(documents).sum())), self.columns[column].dtype)
        self.take_rows(column, documents, np.array([0, len(documents)]), fill=0, out=found)
        return np.asarray(found[0])

    def take_rows(
        self, column: str, documents: NDArray[np.int64], row_offsets: NDArray[np.int64], *, fill: int, out: NDArray[Any]
    ) -> None:
        """Write the values of documents[row_offsets[r]:row_offsets[r + 1]] into row r of `out`, shape (rows, T).

        The rest of each row is filled with `fill`.
        """
        values = self.columns[column]
        _gather.rows(*values.halves, self.offsets[documents], self.offsets[documents + 1], row_offsets, fill, out)
        values.release()


@dataclass(frozen=True, slots=True)
class Spool:
    """The documents of all sources, in order.

    `groups` has the tokens and the chunks under the name of their first column, and edges, strings and platforms under
    their own names. `boundaries` (sources + 1,) has the index of each source's first document, and the document count.
    """

    groups: Mapping[str, Lists]
    boundaries: NDArray[np.int64]

    @property
    def tokens(self) -> Lists:
        """Token ids and all per-token columns."""
        return self.groups[TOKEN_GROUP[0]]

    @property
    def chunks(self) -> Lists:
        """Starts, ends, kinds and dependency levels of chunks."""
        return self.groups[CHUNK_GROUP[0]]

    def platforms(self, documents: NDArray[np.int64]) -> NDArray[Any]:
        """Return the platforms of `documents`, shape (documents, MAX_PLATFORM_IDS), ascending, padded with 0."""
        group = self.groups[c.PLATFORM_IDS]
        return padded(group.take(c.PLATFORM_IDS, documents), group.lengths(documents), MAX_PLATFORM_IDS)

    @property
    def documents(self) -> int:
        """The number of documents of all sources, without rearranged ones."""
        return int(self.boundaries[-1])

    @property
    def rearranged(self) -> int:
        """The number of appended documents that fill-in-the-middle rearranged. They belong to no source."""
        return len(self.tokens.offsets) - 1 - self.documents

    def strings(self, column: str, documents: NDArray[np.int64]) -> pa.StringArray:
        """Return the strings of `column` for `documents`."""
        group = self.groups[column]
        data = group.take(column, documents)
        offsets = np.concatenate([[0], np.cumsum(group.lengths(documents))]).astype(np.int32)
        return pa.StringArray.from_buffers(len(documents), pa.py_buffer(offsets), pa.py_buffer(data))

    def name(self, document: int) -> str:
        """Return the name of a document for messages: repository and id."""
        one = np.array([document])
        return f"document {self.strings(c.REPO, one)[0]}:{self.strings(c.DOC_ID, one)[0]}"


def open_spool(directory: Path) -> Spool:
    """Open the spool in `directory` and map its files."""
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
    """Return the documents of `first`, followed by those of `second`, which belong to no source."""
    groups = {
        name: Lists(
            np.concatenate([one.offsets, one.offsets[-1] + second.groups[name].offsets[1:]]),
            {key: JoinedColumn(column, second.groups[name].columns[key]) for key, column in one.columns.items()},
        )
        for name, one in first.groups.items()
    }
    return Spool(groups, first.boundaries)
