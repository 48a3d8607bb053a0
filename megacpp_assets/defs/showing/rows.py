"""The columns of an artifact's data with their notes, and its first rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import dagster as dg

from megacpp_assets.contract.schemas import DESCRIPTIONS, JSONL_KEYS, TOKENIZED
from megacpp_assets.pipeline.stages import INDEX
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import BUDGETS
from megacpp_assets.storage.jsonl import read_lines
from megacpp_assets.storage.parquet import batches, read_schema

_SAMPLE_ROWS: Final = 5
_CELL_CHARACTERS: Final = 120
_JSON_ONLY: Final = "json"
"""The type of a key of the documents that is no Parquet column."""


def columns_and_sample(artifact: Artifact) -> dict[str, Any]:
    """Return schema and first rows; empty for an artifact without rows."""
    if artifact.manifest.stage == INDEX:
        return _of_documents(artifact)
    names = [entry.name for entry in artifact.manifest.files if entry.name.endswith(".parquet")]
    if not names:
        return {}
    path = artifact.file(names[0])
    schema = read_schema(path)
    rows = next(batches(path, _SAMPLE_ROWS), None)
    types = {field.name: str(field.type) for field in schema}
    return _shown(types, rows.to_pylist() if rows is not None else [])


def _of_documents(artifact: Artifact) -> dict[str, Any]:
    """Return the same for the documents of the semantic stage: JSON lines, whose keys become columns of later
    stages.
    """
    known = {field.name: str(field.type) for field in TOKENIZED}
    types = {key: known.get(key, _JSON_ONLY) for key in JSONL_KEYS}
    budget = next(iter(artifact.manifest.stats.get(BUDGETS, {})), "0")
    return _shown(types, (line.record() for line in islice(read_lines(artifact, int(budget)), _SAMPLE_ROWS)))


def _shown(types: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    columns = [dg.TableColumn(name, kind, DESCRIPTIONS.get(name)) for name, kind in types.items()]
    return {
        "first rows": dg.MetadataValue.md(_markdown(list(types), rows)),
        "dagster/column_schema": dg.TableSchema(columns=columns),
    }


def _markdown(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as markdown, a table of (column, value) for each: wide rows read better downwards."""
    parts = []
    for number, row in enumerate(rows):
        lines = [f"**row {number}**", "", "| column | value |", "|---|---|"]
        lines += [f"| {name} | `{_cell(row[name])}` |" for name in names]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        head = ", ".join(str(item) for item in value[:12])
        value = f"{len(value)} values: {head}{', …' if len(value) > 12 else ''}"
    text = str(value).replace("\n", "⏎").replace("|", "\\|").replace("`", "'")
    return text if len(text) <= _CELL_CHARACTERS else text[:_CELL_CHARACTERS] + "…"
