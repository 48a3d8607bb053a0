"""The raw schema that dbt reads: tables of the inventory, and views over the data files that the manifests name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from megacpp_assets.contract.names import STRUCTURE_CATEGORIES
from megacpp_assets.contract.schemas import DESCRIPTIONS, ENRICHED, MEGATRON_DOCUMENTS, PACKED, TOKENIZED
from megacpp_assets.reports.hardened import literal, pattern
from megacpp_assets.reports.inventory import Inventory, Row
from megacpp_assets.semantic.documents.symbols import FILES, SKIPPED, SYMBOLS

SCHEMA: Final = "raw"

_TEXT, _FLAG, _COUNT, _REAL, _TIME = pa.string(), pa.bool_(), pa.int64(), pa.float64(), pa.timestamp("us")
_PATH = ("path", _TEXT, "Path of the artifact below the data root.")
_DATASET = ("dataset", _TEXT, "Dataset of corpus.lock; empty for pinned repositories, which belong to none.")
_PARTITION = ("partition_key", _TEXT, "NAME@REF, SPECIALIST/PHASE, or the dataset's name.")


@dataclass(frozen=True, slots=True)
class RawTable:
    """A table or view of the raw schema. A view has the rows of those files of `stage` whose name ends with
    `suffix`.
    """

    description: str
    columns: pa.Schema
    notes: Mapping[str, str]
    stage: str = ""
    suffix: str = ""


def _table(description: str, *columns: tuple[str, pa.DataType, str]) -> RawTable:
    return RawTable(description, pa.schema([each[:2] for each in columns]), {name: note for name, _, note in columns})


def _view(stage: str, suffix: str, description: str, columns: pa.Schema) -> RawTable:
    return RawTable(description, columns, DESCRIPTIONS, stage, suffix)


_TABLES: Final = {
    "artifacts": _table(
        "Complete artifacts: sealed, and each file exists with the size in the manifest.",
        _PATH,
        ("stage", _TEXT, "Stage that made it."),
        _DATASET,
        _PARTITION,
        ("manifest_sha256", _TEXT, "Identity of the artifact."),
        ("config", _TEXT, "JSON: the settings that decided its bytes."),
        ("stats", _TEXT, "JSON: what the stage counted."),
        ("sealed_at", _TIME, "When it was sealed, UTC: the time of its _COMPLETE."),
    ),
    "artifact_files": _table(
        "Data files of complete artifacts.",
        _PATH,
        ("name", _TEXT, "Name of the file below the artifact."),
        ("place", _TEXT, "Absolute path of the file."),
        ("bytes", _COUNT, "Size in bytes."),
        ("row_count", _COUNT, "Rows, documents or sequences in the file; null for other files."),
    ),
    "inputs": _table(
        "What each artifact was made from.",
        _PATH,
        ("input_path", _TEXT, "Path of the artifact that was read."),
        ("input_sha256", _TEXT, "Hash of the manifest that this artifact had when it was read."),
    ),
    "checks": _table(
        "Outcome of each native check of each artifact, from its receipt.",
        _PATH,
        ("check_name", _TEXT, "Name of the check, unique within its stage."),
        ("passed", _FLAG, "Whether the check passed."),
        ("blocking", _FLAG, "Whether a failure stops later stages; otherwise it only warns."),
        ("expected", _TEXT, "What must hold."),
        ("found", _TEXT, "What was found."),
    ),
    "unreadable": _table(
        "Folders of the data root that are not complete artifacts; their files are not read.",
        _PATH,
        ("reason", _TEXT, "What is wrong with it, and what to do."),
    ),
    "pins": _table(
        "What corpus.lock pins.",
        _DATASET,
        _PARTITION,
        ("repo", _TEXT, DESCRIPTIONS["repo"]),
        ("ref", _TEXT, DESCRIPTIONS["ref"]),
        ("commit_hash", _TEXT, DESCRIPTIONS["commit_hash"]),
        ("license", _TEXT, DESCRIPTIONS["license"]),
        ("in_mixtures", _FLAG, "Whether the mixtures of the dataset read this reference."),
        ("tokenizer_commit", _TEXT, "Commit of the tokenizer that the dataset pins."),
    ),
    "categories": _table(
        "The structure categories of characters and tokens.",
        ("category_id", _COUNT, "Its number in the data files."),
        ("category", _TEXT, "Its name."),
    ),
}
_VIEWS: Final = {
    "source_files": replace(
        _table(
            "Files of each pinned commit.",
            ("path", _TEXT, "Path of the file within its repository."),
            ("bytes", _COUNT, "Size in bytes."),
            ("blob", _TEXT, "Git's object id of the content."),
            ("header", _FLAG, "Whether the file's name is a header's name."),
            ("language", _TEXT, "c or c++; empty for other languages."),
            ("license", _TEXT, DESCRIPTIONS["license"]),
            ("skipped", _TEXT, "Why the index leaves the file out; empty if it does not."),
        ),
        stage="pinned_repos",
        suffix="files.jsonl",
    ),
    "indexed_files": _view(
        "semantic_jsonl", "files.parquet", "C and C++ files, with the result of their indexing.", FILES
    ),
    "skipped_declarations": _view(
        "semantic_jsonl", "skipped.parquet", "Definitions and files that are not the root of a document.", SKIPPED
    ),
    "symbols": _view("semantic_jsonl", "symbols.parquet", "Declarations of each file, and what files use.", SYMBOLS),
    "tokenized_documents": _view("tokenized_parquet", ".parquet", "Documents with tokens and characters.", TOKENIZED),
    "enriched_documents": _view("v6_enriched", ".parquet", "Documents with structure per token.", ENRICHED),
    "packed_rows": _view("packed_rows", ".parquet", "Rows of a fixed number of tokens.", PACKED),
    "megatron_documents": _view(
        "megatron_bin_idx", ".documents.parquet", "Which document each Megatron sequence is.", MEGATRON_DOCUMENTS
    ),
    "training_steps": replace(
        _table(
            "Optimizer steps of each checkpoint.",
            ("step", _COUNT, "Number of the step, from 1."),
            ("loss", _REAL, "Mean loss of the step's trained tokens, in nats."),
            ("tokens", _COUNT, "Tokens of the step that the loss counts."),
        ),
        stage="trained_checkpoint",
        suffix="metrics.jsonl",
    ),
}

VIEW_NOTES: Final = {
    "artifact_path": "Path of the artifact that contains the row.",
    "artifact_file": "Name of the file that contains the row.",
    "sealed_at": "When that artifact was sealed, UTC.",
}
"""Columns that every view has besides those of its files."""
RAW_TABLES: Final = {**_TABLES, **_VIEWS}
"""All tables and views of the raw schema, by name."""


def is_read(stage: str, name: str) -> bool:
    """Return whether a view of the raw schema reads the data file `name` of a `stage`."""
    return any(view.stage == stage and name.endswith(view.suffix) for view in _VIEWS.values())


def write_raw(connection: duckdb.DuckDBPyConnection, inventory: Inventory) -> None:
    """Replace every table and view of the raw schema, in one transaction."""
    connection.execute("BEGIN")
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    categories = [{"category_id": number, "category": name} for number, name in enumerate(STRUCTURE_CATEGORIES)]
    for name, table in _TABLES.items():
        rows = categories if name == "categories" else getattr(inventory, name)
        _write_table(connection, name, rows, table.columns)
    stages = {row["path"]: row["stage"] for row in inventory.artifacts}
    for name, view in _VIEWS.items():
        files = [
            Path(row["place"])
            for row in inventory.artifact_files
            if stages[row["path"]] == view.stage and row["name"].endswith(view.suffix)
        ]
        _write_view(connection, name, view, files)
    connection.execute("COMMIT")


def _write_table(connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Row], schema: pa.Schema) -> None:
    connection.register("incoming", pa.Table.from_pylist(list(rows), schema=schema))
    connection.execute(f"CREATE OR REPLACE TABLE {SCHEMA}.{name} AS SELECT * FROM incoming")
    connection.unregister("incoming")


def _write_view(connection: duckdb.DuckDBPyConnection, name: str, view: RawTable, files: Sequence[Path]) -> None:
    """Write a view with `artifact_path`, `artifact_file` and `sealed_at` and the columns of the file; an empty table
    without files.
    """
    if files:
        rows = f"SELECT * FROM {_reader(view, files)}"
    else:
        _write_table(connection, f"no_{name}", [], view.columns)
        rows = f"SELECT *, '' AS filename FROM {SCHEMA}.no_{name}"
    joined = "file.path AS artifact_path, file.name AS artifact_file, artifact.sealed_at"
    connection.execute(
        f"CREATE OR REPLACE VIEW {SCHEMA}.{name} AS SELECT {joined}, content.* EXCLUDE (filename) FROM ({rows}) content"
        f" JOIN {SCHEMA}.artifact_files file ON file.place = content.filename"
        f" JOIN {SCHEMA}.artifacts artifact ON artifact.path = file.path"
    )


def _reader(view: RawTable, files: Sequence[Path]) -> str:
    names = ", ".join(literal(pattern(file)) for file in files)
    if view.suffix.endswith(".parquet"):
        return f"read_parquet([{names}], filename = true)"
    types = {_TEXT: "VARCHAR", _FLAG: "BOOLEAN", _COUNT: "BIGINT", _REAL: "DOUBLE"}
    columns = ", ".join(f"{literal(field.name)}: '{types[field.type]}'" for field in view.columns)
    return f"read_json([{names}], format = 'newline_delimited', columns = {{{columns}}}, filename = true)"
