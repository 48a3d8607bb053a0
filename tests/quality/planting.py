"""Planting faults in published artifacts: a parquet file with a wrong value, sealed as a bug would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, TokenizerPin
from megacpp_assets.contract.manifest import FileEntry
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.lock_file import update_lock

Row = dict[str, Any]


def rewrite(artifact: Artifact, name: str, change: Callable[[list[Row]], object]) -> Artifact:
    """`change` alters the rows of the parquet file `name` in place; the artifact is then sealed over what came out."""
    file = artifact.file(name)
    table = pq.read_table(file)
    rows = table.to_pylist()
    change(rows)
    return replace_table(artifact, name, pa.Table.from_pylist(rows, schema=table.schema))


def replace_table(artifact: Artifact, name: str, table: pa.Table) -> Artifact:
    """The artifact with `table` as its file `name`, sealed."""
    pq.write_table(table, artifact.file(name))
    return seal(artifact)


def pin_another_tokenizer(artifact: Artifact) -> Artifact:
    """The artifact in a data root whose lock pins another tokenizer for its dataset than the one behind it."""
    dataset = artifact.path.split("/")[1]
    lock = CorpusLock(dataset, "", tokenizer=TokenizerPin("f" * 40, "0" * 64))
    update_lock(artifact.root, lambda file: file.with_corpus(lock))
    return artifact


def seal(artifact: Artifact) -> Artifact:
    """The artifact with a manifest and a seal that fit its files and its inputs as they are."""
    files = tuple(_entry(artifact.directory, entry) for entry in artifact.manifest.files)
    inputs = tuple(open_artifact(artifact.root, entry.path).reference for entry in artifact.manifest.inputs)
    manifest = replace(artifact.manifest, files=files, inputs=inputs)
    (artifact.directory / MANIFEST_FILE).write_bytes(manifest.to_bytes())
    (artifact.directory / COMPLETE_FILE).write_text(f"{manifest.sha256}\n")
    return open_artifact(artifact.root, artifact.path)


def _entry(directory: Path, entry: FileEntry) -> FileEntry:
    file = directory / entry.name
    return replace(entry, bytes=file.stat().st_size, sha256=sha256_file(file))
