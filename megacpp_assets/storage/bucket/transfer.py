"""Data files between cache and bucket. CRC32C is compared by object, sha256 by the manifest, in both directions.

`gc` of another machine may run meanwhile. It removes nothing of an artifact whose manifest was written in the last two
days, so each upload rewrites the manifest before its first file and again before its reference.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.columns import MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap, LostRace, naming
from megacpp_assets.contract.manifest import FileEntry
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import promote, temporary_path, write_any
from megacpp_assets.storage.bucket.binding import Record, binding_of, is_stored, read_record, record_file, write_record
from megacpp_assets.storage.bucket.eviction import trim
from megacpp_assets.storage.bucket.objects import ObjectInfo, Objects, crc32c_of_file, open_objects
from megacpp_assets.storage.bucket.parallel import in_parallel
from megacpp_assets.storage.bucket.references import Reference, artifact_object, read_reference, reference_of
from megacpp_assets.storage.bucket.shared_files import MANIFESTS, push_branch, push_registry
from megacpp_assets.storage.root.layout import REGISTRY
from megacpp_assets.storage.root.locks import in_turn

TRUSTED: Final = timedelta(hours=24)
"""Files of an unfinished upload are relied on for this long. `gc` keeps them for at least twice as long."""
_TRIES: Final = 10
_LOG: Final = logging.getLogger(__name__)


def store(artifact: Artifact) -> None:
    """Store a checked artifact of a cache in its bucket: data first, a tokenizer's branch, then the reference.

    Raises:
        LineageGap: a local file differs from the manifest.
        LostRace: another machine has moved the reference to another artifact.
    """
    location = binding_of(artifact.root)
    assert location is not None
    objects, root, path = open_objects(location), artifact.root, artifact.path
    folder, _, dataset = path.partition("/")
    is_tokenizer = folder == REGISTRY.partition("/")[0]
    if is_tokenizer:
        push_registry(objects, root)
    if not is_stored(root, path, artifact.manifest.sha256):
        upload(objects, artifact)
    known = read_record(root, path)
    generation = known.generation if known else 0
    if is_tokenizer:
        record = _move_with_branch(objects, artifact, dataset, generation)
    else:
        record = move_reference(objects, artifact, generation)
    write_record(root, path, record)
    trim(root)


def move_reference(objects: Objects, artifact: Artifact, generation: int) -> Record:
    """Move the reference of an uploaded artifact from `generation` to it; return what the reference names now."""
    ours = reference_of(artifact.root, artifact.path, artifact.manifest.sha256)
    try:
        return Record(objects.swap(ours.object_name, ours.to_bytes(), generation).generation, ours.manifest_sha256)
    except LostRace:
        return _same_artifact(objects, ours)


def _move_with_branch(objects: Objects, artifact: Artifact, dataset: str, generation: int) -> Record:
    """Move the branch of a tokenizer's dataset, and only then its reference; `LostRace` puts the branch back.

    If this machine stops in between, the bucket still lacks the artifact, and the next run stores it again. With the
    reference first, no run would move the branch again. The branch here is written again as well: opening the root
    after such a stop has replaced it by the bucket's.
    """
    file, name = artifact.root / REGISTRY / "refs" / "heads" / dataset, f"registry/refs/heads/{dataset}"
    before = objects.read(name)
    if commit := artifact.manifest.config.get("commit"):
        write_any(file, f"{commit}\n".encode())
    push_branch(objects, artifact.root, dataset)
    try:
        return move_reference(objects, artifact, generation)
    except LostRace:
        now = objects.read(name)
        if before is not None and now is not None and now.data == file.read_bytes() != before.data:
            with suppress(LostRace):  # the machine that won has moved it meanwhile
                objects.swap(name, before.data, now.generation)
        raise


def _same_artifact(objects: Objects, ours: Reference) -> Record:
    """Return the record of the reference that won the race; `LostRace` unless it names the same artifact."""
    found = read_reference(objects, ours.path)
    if found is not None and found[0].manifest_sha256 == ours.manifest_sha256:
        _LOG.warning("%s: another machine stored the same artifact first", objects.uri(ours.object_name))
        return Record(found[1], ours.manifest_sha256)
    theirs = "no reference" if found is None else f"manifest {found[0].manifest_sha256}"
    do = "run the same command again: it starts from what the bucket has now"
    raise LostRace(objects.uri(ours.object_name), expected=f"manifest {ours.manifest_sha256}", found=theirs, do=do)


def upload(objects: Objects, artifact: Artifact) -> None:
    """Upload the files that the bucket lacks, or that differ from the manifest there.

    `LineageGap` names a local file that differs from the manifest.
    """
    sha256, manifest = artifact.manifest.sha256, (artifact.directory / MANIFEST_FILE).read_bytes()
    age = announce(objects, sha256, manifest)
    trusted = age is not None and age < TRUSTED
    while True:
        present = objects.list(artifact_object(sha256, ""))
        upload_one = partial(_upload_file, objects, artifact, present, trusted)
        in_parallel(upload_one, artifact.manifest.files)
        if announce(objects, sha256, manifest) is not None:
            break
        trusted = False  # `gc` has removed the manifest meanwhile, and perhaps some files as well
    objects.create(f"{MANIFESTS}{sha256}", artifact.path.encode() + b"\n" + manifest)


def announce(objects: Objects, sha256: str, manifest: bytes) -> timedelta | None:
    """Rewrite the object of a manifest, so that `gc` keeps its artifact; return its former age, or None if it was
    missing.

    `LostRace` if other machines change the object again and again.
    """
    name = artifact_object(sha256, MANIFEST_FILE)
    before, now = rewrite(objects, name, lambda _: manifest)
    return None if before is None else now.updated - before.updated


def rewrite(
    objects: Objects, name: str, data_after: Callable[[ObjectInfo | None], bytes]
) -> tuple[ObjectInfo | None, ObjectInfo]:
    """Overwrite an object; return its descriptions before (None if it was missing) and after.

    `data_after` returns the bytes for the description before. `LostRace` if the object changes before each try.
    """
    for left in reversed(range(_TRIES)):
        before = objects.describe(name)
        try:
            return before, objects.swap(name, data_after(before), before.generation if before else 0)
        except LostRace:  # changed or removed since it was described
            if not left:
                raise
    raise AssertionError("the last try returns or raises")


def _upload_file(
    objects: Objects, artifact: Artifact, present: Mapping[str, ObjectInfo], trusted: bool, entry: FileEntry
) -> None:
    """Upload one file unless the bucket has it. An object that is not trusted is replaced: `gc` may remove it."""
    file, name = artifact.directory / entry.name, artifact_object(artifact.manifest.sha256, entry.name)
    crc32c, known = crc32c_of_file(file), present.get(name)
    if trusted and known is not None and (known.size, known.crc32c) == (entry.bytes, crc32c):
        return
    if (found := sha256_file(file)) != entry.sha256:
        where = f"{artifact.path}/{entry.name}"
        raise LineageGap(where, expected=f"sha256 {entry.sha256}", found=f"sha256 {found}", do="rerun its stage")
    for left in reversed(range(_TRIES)):
        try:
            objects.put_file(name, file, crc32c, known.generation if known else 0)
            return
        except LostRace:
            if not left:
                raise
            known = objects.describe(name)


def fetch(artifact: Artifact, entries: Sequence[FileEntry]) -> None:
    """Fetch those of `entries` that a cache lacks from its bucket.

    `LineageGap` names an object that is missing or differs from the manifest.
    """
    location, root = binding_of(artifact.root), artifact.root
    assert location is not None
    with suppress(FileNotFoundError):
        os.utime(record_file(root, artifact.path))
    if not _missing(artifact, entries) or not is_stored(root, artifact.path, artifact.manifest.sha256):
        return
    objects = open_objects(location)
    with in_turn(root, f"fetch__{artifact.path}", writes=True):
        missing = _missing(artifact, entries)
        trim(root, room_for=sum(entry.bytes for entry in missing))
        sha256 = artifact.manifest.sha256
        in_parallel(lambda entry: fetch_file(objects, sha256, entry, artifact.directory / entry.name), missing)


def _missing(artifact: Artifact, entries: Sequence[FileEntry]) -> list[FileEntry]:
    return [entry for entry in entries if not (artifact.directory / entry.name).is_file()]


def fetch_file(objects: Objects, manifest_sha256: str, entry: FileEntry, file: Path) -> None:
    """Fetch a data file to `file`, which appears whole or not at all; `LineageGap` as for `fetch`."""
    name, found = artifact_object(manifest_sha256, entry.name), "no such object"
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_path(file)
    try:
        with naming(file):
            if objects.download(name, lambda: temporary.open("wb")):
                found = f"sha256 {sha256_file(temporary)}"
                if found == f"sha256 {entry.sha256}":
                    promote(temporary, file)
                    return
    finally:
        temporary.unlink(missing_ok=True)
    raise changed_object(objects.uri(name), entry, found)


def changed_object(uri: str, entry: FileEntry, found: str) -> LineageGap:
    """Return the error for an object that is not the file of `entry`."""
    do = "restore the object's earlier generation, or delete the references to its artifact and run the stage again"
    return LineageGap(uri, expected=f"sha256 {entry.sha256}", found=found, do=do)
