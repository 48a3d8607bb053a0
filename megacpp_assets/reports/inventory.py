"""The contents of a data root as rows: artifacts with files, inputs and checks, and the pins of the lock.

Only manifests are read from folders. A file that no manifest names is in no table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from megacpp_assets.contract.columns import COMPLETE_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.lineage.whole import artifact_paths
from megacpp_assets.pipeline.receipts import read_receipt
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.lock_file import read_lock

Row = dict[str, Any]

_SHARED: Final = "cpp_raw"
"""Artifacts in this folder belong to no dataset."""


@dataclass(slots=True)
class Inventory:
    """Rows by raw table, in the order of paths. `files` are the data files of undamaged artifacts."""

    artifacts: list[Row] = field(default_factory=list)
    artifact_files: list[Row] = field(default_factory=list)
    inputs: list[Row] = field(default_factory=list)
    checks: list[Row] = field(default_factory=list)
    unreadable: list[Row] = field(default_factory=list)
    pins: list[Row] = field(default_factory=list)


def take_inventory(root: Path) -> Inventory:
    """Return the rows of `root`. A damaged artifact is listed in `unreadable`, and none of its files is read."""
    found = Inventory(pins=list(_pins(root)))
    for path in artifact_paths(root):
        try:
            artifact = open_artifact(root, path)
            _require_files(artifact)
        except LineageGap as gap:
            found.unreadable.append({"path": path, "reason": str(gap)})
        else:
            _add(found, artifact)
    return found


def _require_files(artifact: Artifact) -> None:
    """Raise `LineageGap` if a file is missing or has another size. `megacpp verify` compares the bytes."""
    for entry in artifact.expected_files():
        file = artifact.directory / entry.name
        size = file.stat().st_size if file.is_file() else None
        if size != entry.bytes:
            what, found = f"{artifact.path}/{entry.name}", "no such file" if size is None else f"{size} bytes"
            raise LineageGap(what, expected=f"{entry.bytes} bytes", found=found, do="rerun the stage that made it")


def _add(found: Inventory, artifact: Artifact) -> None:
    manifest = artifact.manifest
    folder, _, rest = artifact.path.partition("/")
    found.artifacts.append(
        {
            "path": artifact.path,
            "stage": manifest.stage,
            "dataset": "" if folder == _SHARED else rest.partition("/")[0],
            "partition_key": manifest.partition,
            "manifest_sha256": manifest.sha256,
            "config": orjson.dumps(manifest.config).decode(),
            "stats": orjson.dumps(manifest.stats).decode(),
            "sealed_at": int((artifact.directory / COMPLETE_FILE).stat().st_mtime * 1_000_000),
        }
    )
    for entry in manifest.files:
        place = str(artifact.directory / entry.name)
        found.artifact_files.append(
            {"path": artifact.path, "name": entry.name, "place": place, "bytes": entry.bytes, "row_count": entry.rows}
        )
    found.inputs += [
        {"path": artifact.path, "input_path": entry.path, "input_sha256": entry.manifest_sha256}
        for entry in manifest.inputs
    ]
    found.checks += _checks(artifact)


def _checks(artifact: Artifact) -> Iterator[Row]:
    receipt = read_receipt(artifact)
    for check in receipt.checks if receipt else ():
        yield {
            "path": artifact.path,
            "check_name": check.name,
            "passed": check.passed,
            "blocking": check.blocking,
            "expected": check.expected,
            "found": check.found,
        }


def _pins(root: Path) -> Iterator[Row]:
    for name, corpus in sorted(read_lock(root).datasets.items()):
        read = {pin.partition for pin in corpus.repos}
        for pin in corpus.known:
            yield {
                "dataset": name,
                "partition_key": pin.partition.key,
                "repo": pin.name,
                "ref": pin.ref,
                "commit_hash": pin.commit,
                "license": pin.license,
                "in_mixtures": pin.partition in read,
                "tokenizer_commit": corpus.tokenizer.commit if corpus.tokenizer else None,
            }
