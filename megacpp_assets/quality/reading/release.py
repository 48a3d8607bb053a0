"""Reads what the check of a release needs besides manifests: files that failed, and columns without information."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from megacpp_assets.contract import columns as c
from megacpp_assets.semantic.documents.symbols import FILES_FILE
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.parquet import row_groups

_EDGES = (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN)


def failed_files(semantic: Artifact) -> dict[str, str]:
    """Return the reason of each file of a semantic artifact that could not be indexed, by path."""
    tables = row_groups(semantic.file(FILES_FILE), ["filepath", "status", "reason"])
    rows = (row for table in tables for row in table.to_pylist())
    return {row["filepath"]: row["reason"] for row in rows if row["status"] == "failed"}


def empty_columns(enriched: Artifact) -> set[str]:
    """Return the token columns that have the same value everywhere, and the edge columns without an edge."""
    # A column is dropped at its second distinct value, so a usual artifact is read only in its first row groups.
    left = {name: set[int]() for name in (*c.TOKEN_METADATA_COLUMNS, *_EDGES)}
    for file in enriched.files(".parquet"):
        for table in row_groups(file, list(left)):
            for name in list(left):
                left[name] |= _some_values(table, name)
                if len(left[name]) > 1:
                    del left[name]
            if not left:
                return set()
    return set(left)


def _some_values(table: pa.Table, name: str) -> set[int]:
    """Return the smallest and the largest value in a list column.

    For an edge column {0, 1} if it has an edge, else {0}.
    """
    if name in _EDGES:
        return {0, 1} if pc.sum(pc.list_value_length(table[name])).as_py() else {0}
    bounds = pc.min_max(pc.list_flatten(table[name])).as_py()
    return {value for value in bounds.values() if value is not None}
