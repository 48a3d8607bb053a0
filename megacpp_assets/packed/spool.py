"""Enriched documents on disk as flat columns: any document of any shard is a slice away, in a few bytes of memory each.

Enriched parquet comes in; mapped files, one value after the other over all documents, go out. What packing
relies on is checked here: one BOS at the start of each document, columns of equal length, spans and edges in range.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import DOCUMENT_TOKENS, documents_at_once
from megacpp_assets.contract.schemas import ENRICHED
from megacpp_assets.contract.specials import BOS_ID
from megacpp_assets.storage.parquet import batches, read_schema

EDGE_FROM: Final = "from"
EDGE_TO: Final = "to"

TOKEN_GROUP: Final = (c.TOKEN_IDS_COLUMN, *c.TOKEN_METADATA_COLUMNS)
CHUNK_GROUP: Final = (
    c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN, c.TOKEN_CHUNK_KINDS_COLUMN, c.TOKEN_CHUNK_DEP_LEVELS_COLUMN,
)  # fmt: skip
EDGE_GROUPS: Final = (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN)
STRING_GROUPS: Final = (c.DOC_ID, c.REPO)
COLUMNS: Final = (*STRING_GROUPS, *TOKEN_GROUP, *CHUNK_GROUP, *EDGE_GROUPS)

_BATCH_DOCUMENTS = 1024


class Values(Protocol):
    """The values of one column over all documents."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""

    def take(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """The values at `positions`, copied."""


class Column:
    """Values of one column in a mapped file."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._map: mmap.mmap | None = None
        if path.stat().st_size:  # an empty file cannot be mapped
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def take(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """The values at `positions`, copied."""
        if self._map is None:
            return np.empty(len(positions), dtype=self.dtype)
        values = np.frombuffer(self._map, dtype=self.dtype)[positions]
        # The pages stay in the system's cache, but no longer count as this process's memory.
        self._map.madvise(mmap.MADV_DONTNEED)
        return values


@dataclass(frozen=True, slots=True)
class JoinedColumn:
    """The `boundary` values of one column, and behind them those of another."""

    first: Values
    second: Values
    boundary: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.first.dtype

    def take(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """The values at `positions`, copied."""
        behind = positions >= self.boundary
        values = np.empty(len(positions), dtype=self.dtype)
        values[~behind] = self.first.take(positions[~behind])
        values[behind] = self.second.take(positions[behind] - self.boundary)
        return values


@dataclass(frozen=True, slots=True)
class Lists:
    """Columns that share their boundaries: document i has values [offsets[i], offsets[i + 1]) of each column."""

    offsets: NDArray[np.int64]
    columns: Mapping[str, Values]

    def lengths(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of values of each of `documents`."""
        return np.asarray(self.offsets[documents + 1] - self.offsets[documents])

    def positions(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the values of `documents` lie, document after document."""
        lengths = self.lengths(documents)
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        return np.asarray(np.arange(total) + np.repeat(self.offsets[documents] - (ends - lengths), lengths))


@dataclass(frozen=True, slots=True)
class Spool:
    """Documents in source order. `groups` holds tokens and chunks under the name of their first column, edges and
    strings under their own; `boundaries[r]` is the first document of source r, and the last entry the document count.
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
        data = group.columns[column].take(group.positions(documents))
        offsets = np.concatenate([[0], np.cumsum(group.lengths(documents))]).astype(np.int32)
        return pa.StringArray.from_buffers(len(documents), pa.py_buffer(offsets), pa.py_buffer(data))

    def name(self, document: int) -> str:
        """A document as a person would look it up: repository and id."""
        one = np.array([document])
        return f"document {self.strings(c.REPO, one)[0]}:{self.strings(c.DOC_ID, one)[0]}"


def spool_documents(sources: Iterable[Iterable[Path]], directory: Path, budget: int = DOCUMENT_TOKENS) -> Spool:
    """Spool the parquet files of each source, which hold documents of `budget`, in order, into `directory`.

    `SchemaViolation` names the file, and the document where one breaks a rule that packing needs.
    """
    directory.mkdir(parents=True)
    boundaries = [0]
    with ExitStack() as stack:
        writer = _SpoolWriter(directory, stack)
        for files in sources:
            for file in files:
                for batch in _batches(file, documents_at_once(_BATCH_DOCUMENTS, budget)):
                    if batch.num_rows:
                        writer.write(batch, file.name)
            boundaries.append(writer.documents)
    return Spool(writer.groups(), np.array(boundaries, dtype=np.int64))


def spool_batches(documents: Iterable[pa.RecordBatch], directory: Path, where: str) -> Spool:
    """Spool batches with the columns `COLUMNS` as one source, called `where` in errors; as `spool_documents`."""
    directory.mkdir(parents=True)
    with ExitStack() as stack:
        writer = _SpoolWriter(directory, stack)
        for batch in documents:
            writer.write(batch, where)
    return Spool(writer.groups(), np.array([0, writer.documents], dtype=np.int64))


def joined(first: Spool, second: Spool) -> Spool:
    """The documents of `first`, and behind them those of `second`, which belong to no source."""
    groups = {
        name: Lists(
            np.concatenate([one.offsets, one.offsets[-1] + second.groups[name].offsets[1:]]),
            {
                key: JoinedColumn(column, second.groups[name].columns[key], int(one.offsets[-1]))
                for key, column in one.columns.items()
            },
        )
        for name, one in first.groups.items()
    }
    return Spool(groups, first.boundaries)


def _batches(file: Path, rows: int) -> Iterator[pa.RecordBatch]:
    schema = read_schema(file)
    for name in COLUMNS:
        index = schema.get_field_index(name)
        if index < 0 or schema.field(index).type != ENRICHED.field(name).type:
            found = "no such column" if index < 0 else str(schema.field(index).type)
            raise SchemaViolation(f"{file.name}, column {name}", expected=ENRICHED.field(name).type, found=found)
    yield from batches(file, rows, list(COLUMNS))


@dataclass(slots=True)
class _SpoolWriter:
    directory: Path
    stack: ExitStack
    documents: int = 0
    _files: dict[str, dict[str, tuple[BinaryIO, np.dtype[Any]]]] = field(default_factory=dict)
    _lengths: dict[str, list[NDArray[np.int64]]] = field(default_factory=dict)

    def write(self, batch: pa.RecordBatch, where: str) -> None:
        groups = {group: _flatten(batch, group, where) for group in _group_names()}
        _require_sound(groups, batch, where)
        for group, (lengths, columns) in groups.items():
            self._lengths.setdefault(group, []).append(lengths)
            files = self._files.setdefault(group, {})
            for name, values in columns.items():
                if name not in files:
                    path = self.directory / f"{group}.{name}"
                    files[name] = (self.stack.enter_context(path.open("wb")), values.dtype)
                files[name][0].write(np.ascontiguousarray(values).data)
        self.documents += batch.num_rows

    def groups(self) -> dict[str, Lists]:
        return {group: self._lists(group) for group in _group_names()}

    def _lists(self, group: str) -> Lists:
        lengths = np.concatenate([np.zeros(1, dtype=np.int64), *self._lengths.get(group, [])])
        files = self._files.get(group, {})
        return Lists(
            np.cumsum(lengths), {name: Column(Path(file.name), dtype) for name, (file, dtype) in files.items()}
        )


def _group_names() -> tuple[str, ...]:
    return (TOKEN_GROUP[0], CHUNK_GROUP[0], *EDGE_GROUPS, *STRING_GROUPS)


Flat = tuple[NDArray[np.int64], dict[str, NDArray[Any]]]
"""Lengths by document, and the values of each column end to end."""


def _flatten(batch: pa.RecordBatch, group: str, where: str) -> Flat:
    if group in STRING_GROUPS:
        return _flat_strings(batch.column(group), group, where)
    if group in EDGE_GROUPS:
        lengths, edges = _flat_list(batch.column(group), group, where)
        return lengths, {end: edges.field(end).to_numpy() for end in (EDGE_FROM, EDGE_TO)}
    names = TOKEN_GROUP if group == TOKEN_GROUP[0] else CHUNK_GROUP
    flat = {name: _flat_list(batch.column(name), name, where) for name in names}
    lengths = flat[group][0]
    for name, (other, _) in flat.items():
        _require(np.equal(other, lengths), batch, where, f"{name} as long as {group}")
    return lengths, {name: values.to_numpy() for name, (_, values) in flat.items()}


def _flat_list(column: pa.ListArray, name: str, where: str) -> tuple[NDArray[np.int64], pa.Array]:
    values = column.flatten()
    if column.null_count or values.null_count:
        raise SchemaViolation(f"{where}, column {name}", expected="no nulls", found="nulls")
    offsets = column.offsets.to_numpy()
    return np.diff(offsets).astype(np.int64), values


def _flat_strings(column: pa.StringArray, name: str, where: str) -> Flat:
    if column.null_count:
        raise SchemaViolation(f"{where}, column {name}", expected="no nulls", found="nulls")
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    data = column.buffers()[2]
    characters = np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]] if data else np.empty(0, np.uint8)
    return np.diff(offsets).astype(np.int64), {name: characters}


def _require_sound(groups: Mapping[str, Flat], batch: pa.RecordBatch, where: str) -> None:
    lengths, tokens = groups[TOKEN_GROUP[0]]
    chunk_counts, chunks = groups[CHUNK_GROUP[0]]
    _require(lengths > 0, batch, where, "at least one token")
    firsts = np.cumsum(lengths) - lengths
    is_bos = tokens[c.TOKEN_IDS_COLUMN] == BOS_ID
    _require(is_bos[firsts], batch, where, "BOS as its first token")
    _require(np.add.reduceat(is_bos, firsts, dtype=np.int64) == 1, batch, where, "no second BOS")
    starts, ends = chunks[c.TOKEN_CHUNK_STARTS_COLUMN], chunks[c.TOKEN_CHUNK_ENDS_COLUMN]
    inside = (starts < ends) & (ends <= np.repeat(lengths, chunk_counts))
    _require(_every(inside, chunk_counts), batch, where, "chunk spans inside its tokens")
    for group in EDGE_GROUPS:
        counts, edges = groups[group]
        limit = np.repeat(chunk_counts, counts)
        known = (edges[EDGE_FROM] < limit) & (edges[EDGE_TO] < limit)
        _require(_every(known, counts), batch, where, f"{group} between its own chunks")


def _every(values: NDArray[np.bool_], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether all values of each document are true; true for a document that has none."""
    failures = np.concatenate([[0], np.cumsum(~values)])
    ends = np.cumsum(counts)
    return np.asarray(failures[ends] == failures[ends - counts])


def _require(holds: NDArray[np.bool_], batch: pa.RecordBatch, where: str, rule: str) -> None:
    if not holds.all():
        document = batch.column(c.DOC_ID)[int(np.argmin(holds))]
        raise SchemaViolation(
            f"{where}, document {document}", expected=rule, found="otherwise", do="rerun v6_enriched; do not pack it"
        )
