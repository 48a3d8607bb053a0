"""Sends artifacts through an exchange: each file is named by its sha256, and so is the manifest.

The receiver knows the hash of the manifest from a source that it trusts. It compares each file with the manifest before
it seals the artifact. Nothing received is executed or unpickled.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final

from megacpp_assets.contract.canonical import sha256_bytes, sha256_file
from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import FileEntry, Manifest
from megacpp_assets.launch.protocol.exchange import Exchange
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.atomic import promote, temporary_path, undone_on_error, write_atomic
from megacpp_assets.storage.publish import remove_artifact
from megacpp_assets.storage.root.history import keep_manifest
from megacpp_assets.storage.root.locks import writing

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_AGAIN: Final = "remove it from the exchange and run it again"


def send_artifact(exchange: Exchange, artifact: Artifact) -> None:
    """Copy the files that the exchange lacks, and then the manifest."""
    for entry in artifact.manifest.files:
        if not exchange.holds(_object(entry.sha256), entry.bytes):
            exchange.send(_object(entry.sha256), artifact.file(entry.name))
    exchange.send(_object(artifact.manifest.sha256), artifact.directory / MANIFEST_FILE)


def _receive_manifest(exchange: Exchange, path: str, sha256: str) -> tuple[Manifest, bytes]:
    """Return the manifest with that sha256, and its bytes. `path` is the path of the artifact, for errors."""
    if not _SHA256.fullmatch(sha256):
        raise LineageGap(path, expected="the sha256 of a manifest", found=repr(sha256[:80]))
    where = f"{exchange.uri}/{_object(sha256)}"
    data = exchange.read(_object(sha256))
    if data is None:
        raise LineageGap(
            where, expected=f"the manifest of {path}", found="none", do="run it again, which sends it again"
        )
    if (found := sha256_bytes(data)) != sha256:
        raise LineageGap(where, expected=f"sha256 {sha256}", found=f"sha256 {found}", do=_AGAIN)
    manifest = Manifest.from_bytes(data, where)
    for entry in manifest.files:
        _require_plain(path, entry)
    return manifest, data


def _accept_all(about: object) -> None:
    """Reject nothing."""


def receive_artifact(
    exchange: Exchange,
    root: Path,
    path: str,
    sha256: str,
    *,
    accept: Callable[[Manifest], None] = _accept_all,
    before_file: Callable[[FileEntry], None] = _accept_all,
) -> Artifact:
    """Receive the artifact whose manifest has that sha256, and seal it at `path` of `root`.

    An intact artifact of that hash at `path` is kept as it is. `accept` raises to reject a manifest before any file is
    fetched; `before_file` raises to stop before a file. `LineageGap` if a file is missing or has another hash.
    """
    manifest, data = _receive_manifest(exchange, path, sha256)
    accept(manifest)
    with writing(root, path):
        present = find_artifact(root, path)
        if present is not None and present.manifest.sha256 == sha256 and present.damage() is None:
            return present
        return _seal(exchange, Artifact(root, path, manifest), data, before_file)


def _seal(
    exchange: Exchange, artifact: Artifact, manifest: bytes, before_file: Callable[[FileEntry], None]
) -> Artifact:
    if artifact.directory.exists():
        remove_artifact(artifact)
    with undone_on_error(lambda: shutil.rmtree(artifact.directory)):
        for entry in artifact.manifest.files:
            before_file(entry)
            _receive(exchange, artifact.directory / entry.name, entry)
    keep_manifest(artifact.root, artifact.path, manifest)
    write_atomic(artifact.directory / MANIFEST_FILE, manifest)
    write_atomic(artifact.directory / COMPLETE_FILE, (artifact.manifest.sha256 + "\n").encode())
    return artifact


def _receive(exchange: Exchange, file: Path, entry: FileEntry) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_path(file)
    exchange.fetch(_object(entry.sha256), temporary, entry.bytes)
    if (found := sha256_file(temporary)) != entry.sha256:
        where = f"{exchange.uri}/{_object(entry.sha256)}"
        raise LineageGap(where, expected=f"sha256 {entry.sha256}", found=f"sha256 {found}", do=_AGAIN)
    promote(temporary, file)


def _require_plain(path: str, entry: FileEntry) -> None:
    """Reject a file name that leads out of the artifact, and a hash that leads out of the exchange."""
    parts = PurePosixPath(entry.name)
    if parts.is_absolute() or not parts.parts or ".." in parts.parts or "\0" in entry.name:
        raise LineageGap(f"manifest of {path}", expected="names of files within it", found=repr(entry.name[:80]))
    if not _SHA256.fullmatch(entry.sha256):
        raise LineageGap(f"manifest of {path}", expected="a sha256 a file", found=repr(entry.sha256[:80]))


def _object(sha256: str) -> str:
    return f"objects/{sha256}"
