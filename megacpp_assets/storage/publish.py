"""Publishes artifacts, for every stage: data files, then the manifest, then `_COMPLETE`, each durable before the next.

An artifact is missing or complete. A rerun over unchanged inputs does nothing. A rerun after a crash starts again and
ends with the same bytes.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from megacpp_assets.contract.canonical import fingerprint, sha256_bytes, sha256_file
from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap, naming
from megacpp_assets.contract.manifest import FileEntry, Manifest
from megacpp_assets.storage.artifact import Artifact, find_artifact, open_artifact
from megacpp_assets.storage.atomic import (
    fsync_directory,
    promote,
    remove_tree,
    temporary_path,
    undone_on_error,
    write_atomic,
)
from megacpp_assets.storage.root.history import keep_manifest
from megacpp_assets.storage.root.layout import RECEIPTS
from megacpp_assets.storage.root.locks import reading, writing

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Target:
    """An artifact to make: its place, and everything that decides its bytes.

    `path` and `inputs` are relative to `root`. `version` is the stage's `VERSION`. `config` is JSON-able and holds no
    facts about the machine.
    """

    root: Path
    path: str
    stage: str
    partition: str
    version: str
    config: Mapping[str, Any]
    inputs: tuple[str, ...] = ()

    def fingerprint(self, inputs: tuple[Artifact, ...]) -> str:
        """Return the hash of everything that decides the bytes, over these inputs."""
        return fingerprint(
            {
                "stage": self.stage,
                "partition": self.partition,
                "version": self.version,
                "config": self.config,
                "inputs": [artifact.manifest.sha256 for artifact in inputs],
            }
        )


@dataclass(slots=True)
class PendingFile:
    """A data file that is being written to `path`. Set `rows` if the format has rows."""

    path: Path
    rows: int | None = None


@dataclass(slots=True)
class Publication:
    """An artifact that is being written. A data file gets its name when it is whole."""

    directory: Path
    entries: list[FileEntry] = field(default_factory=list)

    @contextmanager
    def file(self, name: str) -> Iterator[PendingFile]:
        """Write the data file `name` through a temporary path. On a clean exit it is named, durable and hashed."""
        final = self.directory / name
        final.parent.mkdir(parents=True, exist_ok=True)
        pending = PendingFile(temporary_path(final))
        with naming(final):
            yield pending
            promote(pending.path, final)
        self._record(name, final, pending.rows)

    @contextmanager
    def file_by_content(self, name_of: Callable[[str], str]) -> Iterator[PendingFile]:
        """Do the same as `file`, for a file whose name is `name_of(sha256)`."""
        pending = PendingFile(temporary_path(self.directory / "content"))
        with naming(pending.path):
            yield pending
            digest = sha256_file(pending.path)
            final = self.directory / name_of(digest)
            promote(pending.path, final)
        self._add(FileEntry(final.name, final.stat().st_size, digest, pending.rows))

    def write(self, name: str, data: bytes, rows: int | None = None) -> None:
        """Write a small data file from memory."""
        with self.file(name) as pending:
            pending.path.write_bytes(data)
            pending.rows = rows

    def adopt(self, name: str) -> None:
        """Record a durable file that another tool has written under `name`."""
        self._record(name, self.directory / name, None)

    def _record(self, name: str, path: Path, rows: int | None) -> None:
        self._add(FileEntry(name, path.stat().st_size, sha256_file(path), rows))

    def _add(self, entry: FileEntry) -> None:
        if any(entry.name == other.name for other in self.entries):
            where = f"{self.directory / entry.name}"
            raise LineageGap(where, expected="one file of this name", found="two", do="correct the stage")
        self.entries.append(entry)


Produce = Callable[[Publication, tuple[Artifact, ...]], Mapping[str, Any]]
"""Writes the data files, and returns the statistics of the artifact (deterministic facts only)."""


def claimed_artifact(target: Target) -> Artifact | None:
    """Return the published artifact if its manifest matches `target`, else None. No data file is read."""
    artifact = find_artifact(target.root, target.path)
    if artifact is None:
        return None
    inputs = tuple(found for path in target.inputs if (found := find_artifact(target.root, path)) is not None)
    if len(inputs) != len(target.inputs) or artifact.manifest.fingerprint != target.fingerprint(inputs):
        return None
    return artifact


def current_artifact(target: Target) -> Artifact | None:
    """Return the published artifact if its manifest and all of its bytes match `target`, else None."""
    artifact = claimed_artifact(target)
    return artifact if artifact is not None and artifact.damage() is None else None


def withdraw_damaged(target: Target) -> None:
    """Remove the artifact at `target` if it is damaged, and log which file is. The caller holds its lock."""
    if not (target.root / target.path / COMPLETE_FILE).is_file():
        return
    try:
        artifact = open_artifact(target.root, target.path)
    except LineageGap as gap:
        _LOG.warning("damaged and made again: %s", gap)
        _withdraw(target.root, target.path)
        return
    damage = artifact.damage() if claimed_artifact(target) is not None else None
    if damage is not None:
        _LOG.warning("damaged and made again: %s; expected %s; found %s", *damage)
        remove_artifact(artifact)


def remove_artifact(artifact: Artifact) -> None:
    """Remove the receipt, then the seal durably, then the files.

    So no crash leaves a part of the files under a valid seal.
    """
    _withdraw(artifact.root, artifact.path)


def _withdraw(root: Path, path: str) -> None:
    (root / RECEIPTS / f"{path}.json").unlink(missing_ok=True)
    _clear(root, path)


def publish(target: Target, produce: Produce, verified: tuple[Artifact, ...] | None = None) -> Artifact:
    """Make the artifact of `target`, or return the current one unchanged.

    The bytes of inputs are verified first, unless the caller passes them as `verified`. Inputs are locked meanwhile.
    One process at a time works on an artifact; others wait, and log for whom.

    Raises:
        LineageGap: an input is missing or has changed. Nothing looks complete after this or any error of `produce`.
    """
    with writing(target.root, target.path), reading(target.root, target.inputs):
        withdraw_damaged(target)
        current = claimed_artifact(target)
        if current is not None:
            return current
        inputs = verified or tuple(open_artifact(target.root, path).verify() for path in target.inputs)
        return _produce(target, inputs, produce)


def _produce(target: Target, inputs: tuple[Artifact, ...], produce: Produce) -> Artifact:
    directory = target.root / target.path
    _withdraw(target.root, target.path)
    directory.mkdir(parents=True)
    publication = Publication(directory)
    with undone_on_error(lambda: _clear(target.root, target.path)):
        stats = produce(publication, inputs)
        _require_nothing_else(publication)
        return _seal(target, inputs, publication, stats)


def _require_nothing_else(publication: Publication) -> None:
    """Raise `LineageGap` if a temporary file of the stage is left."""
    recorded = {entry.name for entry in publication.entries}
    for place, _, names in os.walk(publication.directory):
        for name in names:
            path = Path(place, name)
            if path.relative_to(publication.directory).as_posix() not in recorded:
                raise LineageGap(f"{path}", expected="only files of the artifact", found="another", do="remove it")


def _seal(target: Target, inputs: tuple[Artifact, ...], publication: Publication, stats: Mapping[str, Any]) -> Artifact:
    directory = publication.directory
    manifest = Manifest(
        stage=target.stage,
        partition=target.partition,
        fingerprint=target.fingerprint(inputs),
        config=dict(target.config),
        inputs=tuple(artifact.reference for artifact in inputs),
        files=tuple(sorted(publication.entries, key=lambda entry: entry.name.encode())),
        stats=dict(stats),
        version=target.version,
    )
    data = manifest.to_bytes()
    keep_manifest(target.root, target.path, data)
    write_atomic(directory / MANIFEST_FILE, data)
    write_atomic(directory / COMPLETE_FILE, (manifest.sha256 + "\n").encode())
    return Artifact(target.root, target.path, manifest)


def _clear(root: Path, path: str) -> None:
    """Remove `_COMPLETE` first, so that no crash leaves old data under a valid seal. The manifest stays kept."""
    directory = root / path
    if not directory.exists():
        return
    complete = directory / COMPLETE_FILE
    if complete.exists():
        _keep_sealed(root, path)
        complete.unlink()
        fsync_directory(directory)
    remove_tree(directory)


def _keep_sealed(root: Path, path: str) -> None:
    """Keep the manifest of the sealed artifact again: somebody may have removed it from the history."""
    try:
        manifest = (root / path / MANIFEST_FILE).read_bytes()
    except FileNotFoundError:
        return
    if (root / path / COMPLETE_FILE).read_bytes().strip() == sha256_bytes(manifest).encode():
        keep_manifest(root, path, manifest)
