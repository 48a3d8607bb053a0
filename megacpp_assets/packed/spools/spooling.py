"""Writes a spool from enriched parquet: flat files of all documents in a folder.

The properties that packing needs are checked here: one BOS at the start of each document, columns of equal length,
spans and edges in range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import SchemaViolation
from megacpp_assets.contract.names import DOCUMENT_TOKENS, documents_at_once
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS
from megacpp_assets.contract.schemas import ENRICHED
from megacpp_assets.contract.tokens.specials import BOS_ID
from megacpp_assets.packed.spools.spool import (
    CHUNK_GROUP,
    COLUMNS,
    EDGE_FROM,
    EDGE_GROUPS,
    EDGE_TO,
    OFFSETS_FILE,
    RECORD_FILE,
    STRING_GROUPS,
    TOKEN_GROUP,
    Spool,
    file_of,
    open_spool,
)
from megacpp_assets.storage.parquet import batches, read_schema

_BATCH_DOCUMENTS: Final = 1024


def spool_documents(sources: Iterable[Iterable[Path]], directory: Path, budget: int = DOCUMENT_TOKENS) -> Spool:
    """Write the documents of each source's parquet files, in order, to a spool in `directory`.

    `budget` is the most tokens of a document; it decides how many are read at a time. Raises `SchemaViolation`, which
    names the file and, if a document breaks a rule that packing needs, the document.
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
        writer.finish(boundaries)
    return open_spool(directory)


def spool_batches(documents: Iterable[pa.RecordBatch], directory: Path, where: str) -> Spool:
    """Write batches with the columns `COLUMNS` to a spool in `directory`, as one source.

    `where` names the source in errors. Raises `SchemaViolation` like `spool_documents`.
    """
    directory.mkdir(parents=True)
    with ExitStack() as stack:
        writer = _SpoolWriter(directory, stack)
        for batch in documents:
            writer.write(batch, where)
        writer.finish([0, writer.documents])
    return open_spool(directory)


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
    """Appends batches of documents to the files of a spool. `stack` closes the files."""

    directory: Path
    stack: ExitStack
    documents: int = 0
    _files: dict[str, BinaryIO] = field(default_factory=dict)
    _types: dict[str, dict[str, str]] = field(default_factory=lambda: {group: {} for group in _group_names()})
    _ends: dict[str, int] = field(default_factory=dict)

    def write(self, batch: pa.RecordBatch, where: str) -> None:
        groups = {group: _flatten(batch, group, where) for group in _group_names()}
        _require_valid(groups, batch, where)
        for group, (lengths, columns) in groups.items():
            self._add_lengths(group, lengths)
            for name, values in columns.items():
                self._types[group][name] = values.dtype.str
                self._file(group, name).write(np.ascontiguousarray(values).data)
        self.documents += batch.num_rows

    def finish(self, boundaries: list[int]) -> None:
        """Write the record. The spool is complete once the files are closed."""
        for group in _group_names():
            self._add_lengths(group, np.empty(0, np.int64))
        record = {"boundaries": boundaries, "types": self._types}
        (self.directory / RECORD_FILE).write_bytes(orjson.dumps(record))

    def _add_lengths(self, group: str, lengths: NDArray[np.int64]) -> None:
        file = self._file(group, OFFSETS_FILE)
        if group not in self._ends:
            file.write(np.zeros(1, np.int64).data)
        ends = self._ends.get(group, 0) + np.cumsum(lengths, dtype=np.int64)
        file.write(ends.data)
        self._ends[group] = int(ends[-1]) if len(ends) else self._ends.get(group, 0)

    def _file(self, group: str, column: str) -> BinaryIO:
        name = file_of(group, column)
        if name not in self._files:
            self._files[name] = self.stack.enter_context((self.directory / name).open("wb"))
        return self._files[name]


def _group_names() -> tuple[str, ...]:
    return (TOKEN_GROUP[0], CHUNK_GROUP[0], *EDGE_GROUPS, *STRING_GROUPS, c.PLATFORM_IDS)


Flat = tuple[NDArray[np.int64], dict[str, NDArray[Any]]]
"""(lengths by document, values of each column, one document after the other)."""


def _flatten(batch: pa.RecordBatch, group: str, where: str) -> Flat:
    if group in STRING_GROUPS:
        return _flat_strings(batch.column(group), group, where)
    if group == c.PLATFORM_IDS:
        lengths, ids = _flat_list(batch.column(group), group, where)
        return lengths, {group: ids.to_numpy()}
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


def _require_valid(groups: Mapping[str, Flat], batch: pa.RecordBatch, where: str) -> None:
    """Raise `SchemaViolation` if a document breaks a rule that packing needs."""
    lengths, tokens = groups[TOKEN_GROUP[0]]
    chunk_counts, chunks = groups[CHUNK_GROUP[0]]
    _require(lengths > 0, batch, where, "at least one token")
    firsts = np.cumsum(lengths) - lengths
    is_bos = tokens[c.TOKEN_IDS_COLUMN] == BOS_ID
    _require(is_bos[firsts], batch, where, "BOS as its first token")
    _require(np.add.reduceat(is_bos, firsts, dtype=np.int64) == 1, batch, where, "no second BOS")
    few_platforms = groups[c.PLATFORM_IDS][0] <= MAX_PLATFORM_IDS
    _require(few_platforms, batch, where, f"at most {MAX_PLATFORM_IDS} platforms")
    starts, ends = chunks[c.TOKEN_CHUNK_STARTS_COLUMN], chunks[c.TOKEN_CHUNK_ENDS_COLUMN]
    inside = (starts < ends) & (ends <= np.repeat(lengths, chunk_counts))
    _require(_every(inside, chunk_counts), batch, where, "chunk spans inside its tokens")
    for group in EDGE_GROUPS:
        counts, edges = groups[group]
        limit = np.repeat(chunk_counts, counts)
        known = (edges[EDGE_FROM] < limit) & (edges[EDGE_TO] < limit)
        _require(_every(known, counts), batch, where, f"{group} between its own chunks")


def _every(values: NDArray[np.bool_], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the mask of the documents whose values are all true, or that have no values.

    `counts` has the values per document.
    """
    failures = np.concatenate([[0], np.cumsum(~values)])
    ends = np.cumsum(counts)
    return np.asarray(failures[ends] == failures[ends - counts])


def _require(holds: NDArray[np.bool_], batch: pa.RecordBatch, where: str, rule: str) -> None:
    if not holds.all():
        document = batch.column(c.DOC_ID)[int(np.argmin(holds))]
        raise SchemaViolation(
            f"{where}, document {document}",
            expected=rule,
            found="a document that breaks the rule",
            do="rerun v6_enriched",
        )
