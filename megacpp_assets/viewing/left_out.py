"""Lists the C and C++ files of a repository that were left out, each with the reason that a stage recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.sources.curated import DECISIONS_FILE, DROP
from megacpp_assets.semantic.documents.symbols import FILES_FILE
from megacpp_assets.storage.artifact import find_artifact, open_artifact
from megacpp_assets.storage.parquet import row_groups
from megacpp_assets.storage.root.layout import curated_path, jsonl_path

_UNREAD: Final = frozenset({"skipped", "failed"})
"""Statuses of files that the stage `semantic_jsonl` has no documents of."""


class LeftOut(NamedTuple):
    """A file that was left out. `reason` is a word of contract/sources/file_policy.py, or what the parser met;
    `detail` says what the reason rests on, "" if nothing more is known.
    """

    path: str
    reason: str
    detail: str


class FilesLeftOut(NamedTuple):
    """The files left out of a reference, in path order, and the number of all its files.

    If not `indexed`, only the stage `curated_files` has judged the files.
    """

    left_out: tuple[LeftOut, ...]
    files: int
    indexed: bool


def files_left_out(root: Path, dataset: str, repo: RepoRef) -> FilesLeftOut:
    """Read the tables of `curated_files` and, if it exists, of `semantic_jsonl`. Raises `LineageGap` like
    `open_artifact`.
    """
    curated, semantic = open_artifact(root, curated_path(dataset, repo)), find_artifact(root, jsonl_path(dataset, repo))
    judged = dict(_dropped(curated.file(DECISIONS_FILE)))
    read = dict(_unread(semantic.file(FILES_FILE))) if semantic else {}
    # The index repeats what curation decided, without the detail.
    left_out = _found(read) | _found(judged)
    in_order = sorted(left_out.values(), key=lambda file: file.path.encode())
    return FilesLeftOut(tuple(in_order), len(judged.keys() | read.keys()), semantic is not None)


def _found(files: Mapping[str, LeftOut | None]) -> dict[str, LeftOut]:
    return {path: file for path, file in files.items() if file is not None}


def _dropped(table: Path) -> Iterator[tuple[str, LeftOut | None]]:
    """Yield each file of the decisions with why it was dropped, None if it was kept."""
    for row in _rows(table, ["filepath", "decision", "reason", "detail"]):
        dropped = LeftOut(row["filepath"], row["reason"], row["detail"])
        yield row["filepath"], dropped if row["decision"] == DROP else None


def _unread(table: Path) -> Iterator[tuple[str, LeftOut | None]]:
    """Yield each file of the index with why it was not read, None if it was."""
    for row in _rows(table, ["filepath", "status", "reason"]):
        yield row["filepath"], LeftOut(row["filepath"], row["reason"], "") if row["status"] in _UNREAD else None


def _rows(table: Path, columns: list[str]) -> Iterator[dict[str, Any]]:
    for group in row_groups(table, columns):
        yield from group.to_pylist()
