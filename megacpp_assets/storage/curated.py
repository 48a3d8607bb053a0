"""The decisions of stage `curated_files`, applied to the file list of a commit."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from megacpp_assets.contract.sources.curated import ANSWERS_FILE, DECISIONS_FILE, DIRECTORY, DROP, FINDS_FILE
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import Spans
from megacpp_assets.storage.parquet import row_groups

_COLUMNS = ["filepath", "license", "decision", "reason"]


def curated_files(files: Iterable[SourceFile], curated: Artifact) -> list[SourceFile]:
    """Return `files` with the licences of `curated`. Dropped files are marked as left out, with the reason."""
    rows = {
        row["filepath"]: row
        for table in row_groups(curated.file(DECISIONS_FILE), _COLUMNS)
        for row in table.to_pylist()
    }
    return [_judged(file, rows[file.path]) if file.path in rows else file for file in files]


def _judged(file: SourceFile, row: dict[str, str]) -> SourceFile:
    skipped = row["reason"] if row["decision"] == DROP else file.skipped
    return replace(file, license=row["license"], skipped=skipped)


def licensed_folders(curated: Artifact, licence: str) -> frozenset[str]:
    """Return the folders whose own licence file states a licence that is not in the expression `licence`."""
    known = licence.replace("(", " ").replace(")", " ").split()
    columns = ["license", "license_source", "license_evidence"]
    rows = (row for table in row_groups(curated.file(DECISIONS_FILE), columns) for row in table.to_pylist())
    return frozenset(
        posixpath.dirname(row["license_evidence"])
        for row in rows
        if row["license_source"] == DIRECTORY and row["license"] not in known
    )


def replaced_spans(curated: Artifact) -> Spans:
    """Return blob -> byte ranges of secrets and personal data, which are replaced whenever the blob is read."""
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for table in row_groups(curated.file(FINDS_FILE), ["blob", "byte_start", "byte_end", "replaced"]):
        for row in table.to_pylist():
            if row["replaced"]:
                spans[row["blob"]].append((row["byte_start"], row["byte_end"]))
    return {blob: sorted(set(ranges)) for blob, ranges in spans.items()}


def masked_answers(curated: Artifact) -> dict[str, list[tuple[int, int, str]]]:
    """Return path -> (start, end, item) of each benchmark item whose definitions are in no document, in the
    file's bytes.
    """
    places: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    columns = ["filepath", "byte_start", "byte_end", "item", "masked"]
    for table in row_groups(curated.file(ANSWERS_FILE), columns):
        for row in table.to_pylist():
            if row["masked"]:
                places[row["filepath"]].append((row["byte_start"], row["byte_end"], row["item"]))
    return dict(places)
