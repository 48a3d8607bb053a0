"""Tables beside the documents: `symbols.parquet`, `files.parquet` (coverage), `skipped.parquet`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import pyarrow as pa

from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.documents.composer import Skipped
from megacpp_assets.semantic.documents.measures.coverage import coverage_of
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts
from megacpp_assets.semantic.graph.symbol_rows import KINDS, Entities, without_place
from megacpp_assets.semantic.tree.text import SourceText
from megacpp_assets.storage.parquet import RowGroupWriter
from megacpp_assets.storage.publish import Publication

SYMBOLS_FILE, FILES_FILE, SKIPPED_FILE = "symbols.parquet", "files.parquet", "skipped.parquet"

SYMBOLS = pa.schema(
    [
        ("symbol_id", pa.uint32()),
        ("qualified_name", pa.string()),
        ("kind", pa.string()),
        ("definition", pa.bool_()),
        ("filepath", pa.string()),
        ("byte_start", pa.int64()),
        ("byte_end", pa.int64()),
    ]
)
"""Each place where a file declares an entity, locals and macros too, by path, offset and name. Behind those, by id and
with neither path nor range, what the files use and none of them declares: the library's, the compiler's, or of a file
that was not read. Each id of the documents' columns has a row. Overloads share an id, and so may names by chance."""
FILES = pa.schema(
    [
        ("filepath", pa.string()),
        ("status", pa.string()),
        ("mode", pa.string()),
        ("reason", pa.string()),
        ("flags", pa.list_(pa.string())),
        ("standard", pa.string()),
        ("errors", pa.int64()),
        ("bytes", pa.int64()),
        ("characters", pa.int64()),
        ("lines", pa.int64()),
        ("documents", pa.int64()),
        ("calls", pa.int64()),
        ("resolved_calls", pa.int64()),
        ("candidate_calls", pa.int64()),
        ("unlabelled_characters", pa.int64()),
        ("encoding", pa.string()),
        ("encoding_certainty", pa.float64()),
    ]
)
"""One row per C/C++ file of the commit; status "skipped" for a file that was not read as text."""
SKIPPED = pa.schema(
    [
        ("filepath", pa.string()),
        ("name", pa.string()),
        ("byte_start", pa.int64()),
        ("byte_end", pa.int64()),
        ("reason", pa.string()),
    ]
)
"""Definitions and whole files that are no document's root, with the reason."""


class Symbols(NamedTuple):
    """The rows of the symbol table, and (name, kind) of what the files declare."""

    rows: int
    declared: AbstractSet[tuple[str, str]]


def write_symbols(publication: Publication, files: Iterable[FileFacts]) -> Symbols:
    """Write the symbol table of `files`, which come in path order."""
    used: set[tuple[str, str]] = set()
    placed: set[tuple[str, str]] = set()
    with publication.file(SYMBOLS_FILE) as pending:
        with RowGroupWriter(pending.path, SYMBOLS) as writer:
            for facts in files:
                writer.write(_places(facts.source, facts.entities))
                placed.update(facts.entities.declared())
                used.update(facts.entities.used)
            writer.write(_table(SYMBOLS, without_place(used - placed)))
        pending.rows = writer.rows
    return Symbols(writer.rows, placed)


def _places(source: SourceText, entities: Entities) -> pa.Table:
    """Return the rows of a file."""
    kinds = pa.DictionaryArray.from_arrays(entities.kind, pa.array(KINDS)).cast(pa.string())
    names, paths = pa.array(entities.name, pa.string()), pa.repeat(source.path, len(entities.id))
    arrays = [pa.array(entities.id), names, kinds, pa.array(entities.definition), paths]
    places = [pa.array(source.all_in_blob(offsets), pa.int64()) for offsets in (entities.start, entities.end)]
    return pa.Table.from_arrays([*arrays, *places], schema=SYMBOLS)


def write_coverage(
    publication: Publication, files: Sequence[FileFacts], refused: Sequence[tuple[SourceFile, str]], roots: Counter[int]
) -> dict[str, Any]:
    """Write the coverage report and return it in numbers; `refused` are files that were not read, with their reasons,
    `roots` the documents by file number."""
    rows = [
        (
            facts.source.path,
            facts.parsed.status,
            facts.parsed.mode,
            facts.parsed.reason or facts.parsed.first_error,
            list(facts.source.flags),
            facts.parsed.standard,
            facts.parsed.errors,
            len(facts.source.blob),
            len(facts.source.text),
            len(facts.source.data.splitlines()),
            roots[number],
            facts.links.calls,
            facts.links.resolved,
            facts.links.candidates,
            facts.unlabelled,
            facts.source.encoding,
            facts.source.certainty,
        )
        for number, facts in enumerate(files)
    ]
    rows += [
        (file.path, "skipped", "", reason, [], "", 0, file.bytes, 0, 0, 0, 0, 0, 0, 0, "", 0.0)
        for file, reason in refused
    ]
    _write(publication, FILES_FILE, FILES, sorted(rows, key=lambda row: str(row[0]).encode()))
    return coverage_of(dict(zip(FILES.names, row, strict=True)) for row in rows)


def write_skipped(publication: Publication, skipped: Sequence[Skipped]) -> None:
    """Write the skip list, by path and offset."""
    rows = [(entry.path, entry.name, entry.byte_start, entry.byte_end, entry.reason) for entry in skipped]
    _write(publication, SKIPPED_FILE, SKIPPED, sorted(rows, key=lambda row: (row[0].encode(), row[2], row[3], row[1])))


def _write(publication: Publication, name: str, schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> None:
    with publication.file(name) as pending:
        with RowGroupWriter(pending.path, schema) as writer:
            writer.write(_table(schema, rows))
        pending.rows = len(rows)


def _table(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
