"""A reference: the small object of a path in the bucket, with the hash of the manifest and the receipt of the checks.

Names in the bucket: `references/PATH`, `artifacts/SHA256/FILE`, `manifests/SHA256`, `recipes/…`, `registry/…`,
`locks/SHA256`, `lock`, `root`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import Manifest
from megacpp_assets.storage.artifact import find_artifact
from megacpp_assets.storage.atomic import write_any, write_atomic
from megacpp_assets.storage.bucket.binding import Record, read_record, write_record
from megacpp_assets.storage.bucket.objects import Objects
from megacpp_assets.storage.publish import remove_artifact
from megacpp_assets.storage.root.history import keep_manifest
from megacpp_assets.storage.root.layout import ARTIFACT_FOLDERS, RECEIPTS
from megacpp_assets.storage.root.locks import writing
from megacpp_assets.storage.work import WORK_SUFFIX

REFERENCES: Final = "references/"
ARTIFACTS: Final = "artifacts/"
_FORMAT: Final = 1
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_PART: Final = re.compile(r"[^/\\\0]+")
_SIDE_FILES: Final = (".json", f"{WORK_SUFFIX}.json")
"""The receipt, and the counts of the run that made the artifact (storage/work.py)."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The manifest at `path`, and the texts of the receipt and the work counts by file suffix."""

    path: str
    manifest_sha256: str
    receipts: dict[str, str]

    @property
    def object_name(self) -> str:
        """The name of its object."""
        return f"{REFERENCES}{self.path}"

    def to_bytes(self) -> bytes:
        """Return the object's bytes."""
        facts = {"format": _FORMAT, "manifest_sha256": self.manifest_sha256, "receipts": self.receipts}
        return canonical_json(facts)

    @staticmethod
    def from_bytes(path: str, data: bytes, where: str) -> Reference:
        """Parse the object of `path`; `LineageGap` naming `where` if it is malformed or leads out of the data root."""
        try:
            raw = json.loads(data)
            sha256, receipts = raw["manifest_sha256"], dict(raw["receipts"])
            sound = raw["format"] == _FORMAT and _SHA256.fullmatch(sha256) and set(receipts) <= set(_SIDE_FILES)
        except (ValueError, KeyError, TypeError) as error:
            raise _malformed(where, f"{type(error).__name__}: {error}") from error
        if not sound or not all(isinstance(text, str) for text in receipts.values()) or not is_artifact_path(path):
            raise _malformed(where, f"{data[:80]!r}")
        return Reference(path, sha256, receipts)


def is_artifact_path(path: str) -> bool:
    """Return whether `path` is below a folder of artifacts and cannot lead out of it."""
    parts = path.split("/")
    return parts[0] in ARTIFACT_FOLDERS and len(parts) > 1 and all(map(_is_plain, parts))


def artifact_object(manifest_sha256: str, name: str) -> str:
    """Return the name of the object with a file of an artifact."""
    return f"{ARTIFACTS}{manifest_sha256}/{name}"


def reference_of(root: Path, path: str, manifest_sha256: str) -> Reference:
    """Return the reference for the artifact at `path` of `root`, with its receipt."""
    files = {suffix: root / RECEIPTS / f"{path}{suffix}" for suffix in _SIDE_FILES}
    texts = {suffix: file.read_text(encoding="utf-8") for suffix, file in files.items() if file.is_file()}
    return Reference(path, manifest_sha256, texts)


def read_reference(objects: Objects, path: str) -> tuple[Reference, int] | None:
    """Read the reference for `path` and its generation; None if it is missing. `LineageGap` if it is malformed."""
    name = f"{REFERENCES}{path}"
    found = objects.read(name)
    return None if found is None else (Reference.from_bytes(path, found.data, objects.uri(name)), found.generation)


def pull_reference(objects: Objects, root: Path, path: str) -> None:
    """Bring manifest, seal and receipt of `path` up to date with the bucket, if it has a reference for it."""
    found = read_reference(objects, path)
    if found is None:
        return
    reference, generation = found
    known = read_record(root, path)
    if known is not None and known.generation == generation and find_artifact(root, path) is not None:
        return
    _install(root, reference, read_manifest(objects, reference.manifest_sha256))
    write_record(root, path, Record(generation, reference.manifest_sha256))


def read_manifest(objects: Objects, manifest_sha256: str) -> bytes:
    """Return the bytes of a manifest; `LineageGap` if the object is missing or has another sha256."""
    name = artifact_object(manifest_sha256, MANIFEST_FILE)
    found = objects.read(name)
    actual = "no such object" if found is None else f"sha256 {sha256_bytes(found.data)}"
    if found is None or actual != f"sha256 {manifest_sha256}":
        do = "restore the object's earlier generation, or delete its references and run the stage again"
        raise LineageGap(objects.uri(name), expected=f"sha256 {manifest_sha256}", found=actual, do=do)
    for entry in Manifest.from_bytes(found.data, objects.uri(name)).files:
        if not all(map(_is_plain, entry.name.split("/"))):
            expected = "names of files within the artifact"
            raise LineageGap(objects.uri(name), expected=expected, found=repr(entry.name[:80]))
    return found.data


def seal(root: Path, reference: Reference, manifest: bytes) -> None:
    """Write manifest, `_COMPLETE` and receipt of an artifact into `root`."""
    path = reference.path
    keep_manifest(root, path, manifest)
    write_atomic(root / path / MANIFEST_FILE, manifest)
    write_atomic(root / path / COMPLETE_FILE, f"{reference.manifest_sha256}\n".encode())
    write_receipts(root, reference)


def write_receipts(root: Path, reference: Reference) -> None:
    """Write the receipt of the reference into `root`."""
    for suffix, text in reference.receipts.items():
        write_any(root / RECEIPTS / f"{reference.path}{suffix}", text.encode())


def _install(root: Path, reference: Reference, manifest: bytes) -> None:
    """Make the stored artifact the one at its path of a cache. Its data files follow when they are read."""
    with writing(root, reference.path):
        present = find_artifact(root, reference.path)
        if present is not None and present.manifest.sha256 == reference.manifest_sha256:
            write_receipts(root, reference)
            return
        if present is not None:
            remove_artifact(present)
        seal(root, reference, manifest)


def _is_plain(part: str) -> bool:
    return bool(_PART.fullmatch(part)) and part not in (".", "..")


def _malformed(where: str, found: str) -> LineageGap:
    do = "restore the object's earlier generation, or delete it and run the stage again"
    return LineageGap(where, expected=f"a reference of format {_FORMAT}", found=found, do=do)
